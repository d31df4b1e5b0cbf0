/** Messages and enums of `BetaWebKeyServiceApi`. */
export * from '../../../gen/iam/webkey/v2beta/web_key_pb.js'
export * from '../../../gen/iam/webkey/v2beta/web_key_service_pb.js'
