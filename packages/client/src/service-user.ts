/** Messages and enums of `ServiceUserServiceApi` and `ClientCertificateServiceApi`. */
export * from '../../../gen/iam/user/v2/client_certificate_pb.js'
export * from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
export * from '../../../gen/iam/user/v2/service_user_pb.js'
export * from '../../../gen/iam/user/v2/service_user_service_pb.js'
