/** Messages of `ProjectServiceApi`. */
export * from '../../../gen/iam/project/v2/project_pb.js'
export * from '../../../gen/iam/project/v2/project_service_pb.js'
