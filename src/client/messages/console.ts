/**
 * Messages of `ConsoleServiceApi`.
 */
export * from '../../../gen/iam/console/v2/console_service_pb.js'
