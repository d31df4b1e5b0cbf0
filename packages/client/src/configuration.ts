/** Messages of `ConfigServiceApi`. */
export * from '../../../gen/iam/config/v2/config_service_pb.js'
export * from '../../../gen/iam/config/v2/configuration_pb.js'
export * from '../../../gen/iam/config/v2/plan_pb.js'
