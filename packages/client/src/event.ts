/** Messages of `WebhookServiceApi`. */
export * from '../../../gen/iam/event/v2/webhook_pb.js'
export * from '../../../gen/iam/event/v2/webhook_service_pb.js'
