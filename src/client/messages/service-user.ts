/**
 * Messages and enums of `ServiceUserServiceApi`.
 */
export * from '../../../gen/iam/user/v2/service_user_pb.js'
export * from '../../../gen/iam/user/v2/service_user_service_pb.js'
