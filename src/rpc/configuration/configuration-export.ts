/**
 * An instance, or a part of it, as a configuration, which applied to it makes no difference. What has its default is left out, so that files stay
 * short.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ConfigurationSchema } from '../../../gen/iam/config/v2/configuration_pb.js'
import { canonicalJson, claimsInWords, type Names } from '../../domain/configuration/description.ts'
import type { ConfiguredState } from '../../domain/configuration/plan.ts'
import { DomainError } from '../../domain/errors.ts'
import {
  DEFAULT_MAX_LIFETIME_SECONDS,
  DEFAULT_MAX_STALENESS_SECONDS,
  type TrustedIssuer,
} from '../../domain/federation/trusted-issuer.ts'
import { credentialsOf, liveCredentials } from '../../domain/identities/credential.ts'
import { type ServiceUser, switchesOf } from '../../domain/identities/service-user.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import type { ConfigurationSubject } from '../../domain/ports/configuration.ts'
import { fromIssuerKeys } from '../federation/trusted-issuer-service.ts'
import { fromMatch } from '../identities/credential-services.ts'
import { fromInstanceRole, fromMemberRole } from '../identities/service-user-mapping.ts'
import { fromPolicy } from '../keys/web-key-mapping.ts'
import { fromDate, fromSeconds } from '../messages/fields.ts'

/** In order, without expired credentials. @param clock By which they have. @throws {DomainError} `user_name_not_unique`. */
export function fromInstance(
  state: ConfiguredState,
  { label, projects: selected }: Pick<ConfigurationSubject, 'label' | 'projects'>,
  clock: Date,
): MessageInitShape<typeof ConfigurationSchema> {
  const { users } = state
  for (const same of Map.groupBy(users, ({ projectName, name }) => `${projectName} ${name}`).values()) assertOne(same)
  const isWhole = selected.length === 0
  const isLabelled = (id: string) => label === null || state.labels.get(id) === label
  const projects = state.projects.filter(
    ({ projectId, name }) => isLabelled(projectId) && (isWhole || selected.includes(name)),
  )
  const issuers = state.trustedIssuers.filter(({ issuerId }) => isWhole && isLabelled(issuerId))
  const names = {
    projects: new Map(state.projects.map(({ projectId, name }) => [projectId, name])),
    issuers: new Map(state.trustedIssuers.map(({ issuerId, issuer }) => [issuerId, issuer])),
  }
  return {
    projects: byText(projects, ({ name }) => name).map(({ name, roles, scopes, audiences, rolesClaim }) => {
      return { name, roles: [...roles], scopes: [...scopes], audiences: [...audiences], rolesClaim }
    }),
    serviceUsers: byText(users, ({ projectName, name }) => `${projectName} ${name}`).map((user) =>
      fromUser(user, names, clock),
    ),
    trustedIssuers: byText(issuers, ({ issuer }) => issuer).map(fromIssuer),
    // The policy has no label.
    ...(isWhole && label === null ? { rotationPolicy: fromPolicy(state.policy) } : {}),
  }
}

function assertOne(same: readonly ServiceUser[]): void {
  const [user] = same
  if (user === undefined || same.length === 1) return
  const ids = same.map(({ userId }) => userId).join(', ')
  throw new DomainError(
    'user_name_not_unique',
    `${same.length} users of the project ${user.projectName} have the name ${JSON.stringify(user.name)}: rename all but one`,
    { metadata: { user_ids: ids } },
  )
}

function fromUser(user: ServiceUser, names: Pick<Names, 'projects' | 'issuers'>, clock: Date) {
  const { projectName: project, name, tokenLifetimeSeconds } = user
  const { clientCredentialsEnabled, ...switches } = switchesOf(user)
  const inProjects = <T>(grants: ReadonlyMap<string, T>) =>
    byText(
      [...grants].map(([id, granted]) => ({ project: names.projects.get(id) ?? id, granted })),
      (grant) => grant.project,
    )
  return {
    project,
    name,
    ...(user.enabled ? {} : { enabled: false }),
    ...(clientCredentialsEnabled ? {} : { clientCredentialsEnabled }),
    ...switches,
    projectRoles: inProjects(user.projectRoles).map((grant) => ({ project: grant.project, roles: [...grant.granted] })),
    managedProjects: inProjects(user.managedProjects).map((grant) => {
      return { project: grant.project, role: fromMemberRole(grant.granted) }
    }),
    scopes: [...user.customScopes],
    instanceRoles: user.instanceRoles.map(fromInstanceRole),
    publicKeys: inOrder(
      liveCredentials(user, 'user_key', clock).map(({ publicJwk, expiresAt }) => ({ publicJwk, expiresAt })),
    ).map(({ publicJwk, expiresAt }) => {
      return { publicJwk: JSON.stringify(publicJwk), ...fromDate('expirationDate', expiresAt) }
    }),
    federatedIdentities: inOrder(
      credentialsOf(user, 'federated_identity').map(({ issuerId, subject, audience, claims }) => {
        const issuer = names.issuers.get(issuerId) ?? issuerId
        return { issuer, subject, audience: audience ?? '', claims: inOrder(claims) }
      }),
    ),
    clientCertificates: inOrder(
      liveCredentials(user, 'client_certificate', clock).map(({ match, value, expiresAt }) => {
        return { match, value, expiresAt }
      }),
    ).map((certificate) => {
      return { match: fromMatch(certificate), ...fromDate('expirationDate', certificate.expiresAt) }
    }),
    ...(tokenLifetimeSeconds === null ? {} : { tokenLifetime: fromSeconds(tokenLifetimeSeconds) }),
    tokenClaims: claimsInWords(user.tokenClaims),
  }
}

function fromIssuer({ issuer, keys, algorithms, maxLifetimeSeconds }: TrustedIssuer) {
  const { maxStalenessSeconds, ...origin } = fromIssuerKeys(
    keys.kind === 'given' ? { ...keys, keys: inOrder(keys.keys) } : keys,
  )
  const isDefault =
    algorithms.length === ASSERTION_ALGORITHMS.length && ASSERTION_ALGORITHMS.every((each) => algorithms.includes(each))
  return {
    issuer,
    keys: { ...origin, ...unlessDefault({ maxStalenessSeconds }, DEFAULT_MAX_STALENESS_SECONDS) },
    algorithms: isDefault ? [] : algorithms.toSorted(),
    ...unlessDefault({ maxLifetimeSeconds }, DEFAULT_MAX_LIFETIME_SECONDS),
  }
}

function unlessDefault<Fields extends Record<string, number | undefined>>(fields: Fields, standard: number) {
  return Object.values(fields).some((value) => value !== undefined && value !== standard) ? fields : {}
}

/** So that two exports of the same are equal: in the database they have the order of ids. */
function inOrder<T>(items: readonly T[]): T[] {
  return byText(items, canonicalJson)
}

function byText<T>(items: readonly T[], textOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, text: textOf(item) }))
    .toSorted((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)))
    .map(({ item }) => item)
}
