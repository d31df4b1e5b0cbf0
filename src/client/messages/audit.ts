/**
 * Messages and enums of `AuditServiceApi`.
 */
export * from '../../../gen/iam/audit/v2/audit_service_pb.js'
