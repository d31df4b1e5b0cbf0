/**
 * Messages of `InstanceServiceApi`.
 */
export * from '../../../gen/iam/instance/v2/instance_service_pb.js'
