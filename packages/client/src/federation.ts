/** Messages of `TrustedIssuerServiceApi` and `FederatedIdentityServiceApi`. */
export * from '../../../gen/iam/federation/v2/federated_identity_pb.js'
export * from '../../../gen/iam/federation/v2/federated_identity_service_pb.js'
export * from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
export * from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
