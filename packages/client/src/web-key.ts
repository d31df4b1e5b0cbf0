/** Messages and enums of `WebKeyServiceApi`. */
export * from '../../../gen/iam/webkey/v2/rotation_pb.js'
export * from '../../../gen/iam/webkey/v2/web_key_pb.js'
export * from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
