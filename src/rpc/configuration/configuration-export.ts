/** A configuration from the domain to the wire. What has its default is left out, so that files stay short. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ConfigurationSchema } from '../../../gen/iam/config/v2/configuration_pb.js'
import type {
  Configuration,
  ServiceUserConfiguration,
  TrustedIssuerConfiguration,
} from '../../domain/configuration/configuration.ts'
import { DEFAULT_MAX_LIFETIME_SECONDS, DEFAULT_MAX_STALENESS_SECONDS } from '../../domain/federation/trusted-issuer.ts'
import { switchesOf } from '../../domain/identities/service-user.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import { fromIssuerKeys } from '../federation/trusted-issuer-service.ts'
import { fromMatch } from '../identities/credential-services.ts'
import { fromInstanceRole, fromMemberRole } from '../identities/service-user-mapping.ts'
import { fromPolicy } from '../keys/web-key-mapping.ts'
import { fromDate, fromSeconds } from '../messages/fields.ts'

export function fromConfiguration({
  projects,
  serviceUsers,
  trustedIssuers,
  rotationPolicy,
}: Configuration): MessageInitShape<typeof ConfigurationSchema> {
  return {
    projects: projects.map(({ name, roles, scopes, audiences, rolesClaim }) => ({
      name,
      roles: [...roles],
      scopes: [...scopes],
      audiences: [...audiences],
      rolesClaim,
    })),
    serviceUsers: serviceUsers.map(fromUser),
    trustedIssuers: trustedIssuers.map(fromIssuer),
    ...(rotationPolicy === null ? {} : { rotationPolicy: fromPolicy(rotationPolicy) }),
  }
}

function fromUser(user: ServiceUserConfiguration) {
  const { project, name, tokenLifetimeSeconds, tokenClaims } = user
  const { clientCredentialsEnabled, ...switches } = switchesOf(user)
  return {
    project,
    name,
    ...(user.enabled ? {} : { enabled: false }),
    ...(clientCredentialsEnabled ? {} : { clientCredentialsEnabled }),
    ...switches,
    projectRoles: user.projectRoles.map((grant) => ({ project: grant.project, roles: [...grant.roles] })),
    managedProjects: user.managedProjects.map((grant) => ({
      project: grant.project,
      role: fromMemberRole(grant.role),
    })),
    scopes: [...user.scopes],
    instanceRoles: user.instanceRoles.map(fromInstanceRole),
    publicKeys: user.publicKeys.flatMap((key) =>
      key === null ? [] : [{ publicJwk: JSON.stringify(key.publicJwk), ...fromDate('expirationDate', key.expiresAt) }],
    ),
    federatedIdentities: user.federatedIdentities.map(({ issuer, subject, audience, claims }) => ({
      issuer,
      subject,
      audience: audience ?? '',
      claims: claims.map(({ pointer, value }) => ({ pointer, value })),
    })),
    clientCertificates: user.clientCertificates.map((certificate) => ({
      match: fromMatch(certificate),
      ...fromDate('expirationDate', certificate.expiresAt),
    })),
    ...(tokenLifetimeSeconds === null ? {} : { tokenLifetime: fromSeconds(tokenLifetimeSeconds) }),
    tokenClaims,
  }
}

function fromIssuer({ issuer, keys, algorithms, maxLifetimeSeconds }: TrustedIssuerConfiguration) {
  const isDefault =
    algorithms.length === ASSERTION_ALGORITHMS.length && ASSERTION_ALGORITHMS.every((each) => algorithms.includes(each))
  return {
    issuer,
    ...(keys === null ? {} : { keys: withoutDefaults(fromIssuerKeys(keys)) }),
    algorithms: isDefault ? [] : [...algorithms],
    ...(maxLifetimeSeconds === DEFAULT_MAX_LIFETIME_SECONDS ? {} : { maxLifetimeSeconds }),
  }
}

function withoutDefaults({ maxStalenessSeconds, ...keys }: ReturnType<typeof fromIssuerKeys>) {
  const isDefault = maxStalenessSeconds === undefined || maxStalenessSeconds === DEFAULT_MAX_STALENESS_SECONDS
  return isDefault ? keys : { ...keys, maxStalenessSeconds }
}
