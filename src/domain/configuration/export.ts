/** An instance as a configuration, which applied to it makes no difference. */

import { DomainError } from '../errors.ts'
import type { TrustedIssuer } from '../federation/trusted-issuer.ts'
import { credentialsOf, liveCredentials } from '../identities/credential.ts'
import type { Project } from '../identities/project.ts'
import { type ServiceUser, switchesOf } from '../identities/service-user.ts'
import type { RotationPolicy } from '../keys/rotation-policy.ts'
import {
  type Configuration,
  MAX_CONFIGURED_PROJECTS,
  MAX_CONFIGURED_USERS,
  type ServiceUserConfiguration,
  type TrustedIssuerConfiguration,
} from './configuration.ts'
import { canonicalJson, claimsInWords } from './description.ts'

export interface ExportedState {
  readonly projects: readonly Project[]
  readonly users: readonly ServiceUser[]
  readonly trustedIssuers: readonly TrustedIssuer[]
  /** Null: it is left out. */
  readonly policy: RotationPolicy | null
}

interface References {
  readonly projects: ReadonlyMap<string, string>
  readonly issuers: ReadonlyMap<string, string>
}

/** In order, without expired credentials. @throws {DomainError} `user_name_not_unique`; `configuration_too_large`. */
export function toConfiguration(
  { projects, users, trustedIssuers, policy }: ExportedState,
  { clock, ...references }: References & { readonly clock: Date },
): Configuration {
  if (users.length > MAX_CONFIGURED_USERS || projects.length > MAX_CONFIGURED_PROJECTS) {
    throw new DomainError(
      'configuration_too_large',
      `a configuration has at most ${MAX_CONFIGURED_USERS} service users and ${MAX_CONFIGURED_PROJECTS} projects: export it by projects`,
    )
  }
  for (const same of Map.groupBy(users, ({ projectName, name }) => `${projectName} ${name}`).values()) assertOne(same)
  return {
    projects: projects
      .map(({ name, roles, scopes, audiences, rolesClaim }) => ({ name, roles, scopes, audiences, rolesClaim }))
      .toSorted(byName),
    serviceUsers: users
      .map((user) => toUser(user, references, clock))
      .toSorted((a, b) => compare(a.project, b.project) || byName(a, b)),
    trustedIssuers: trustedIssuers.map(toIssuer).toSorted((a, b) => compare(a.issuer, b.issuer)),
    rotationPolicy: policy,
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

function toIssuer({ issuer, algorithms, maxLifetimeSeconds, keys }: TrustedIssuer): TrustedIssuerConfiguration {
  return {
    issuer,
    algorithms: algorithms.toSorted(),
    maxLifetimeSeconds,
    keys:
      keys.kind === 'given' ? { kind: 'given', keys: inOrder(keys.keys) } : { kind: 'fetched', source: keys.source },
  }
}

function toUser(user: ServiceUser, { projects, issuers }: References, clock: Date): ServiceUserConfiguration {
  const { name, enabled, instanceRoles } = user
  const known = (names: ReadonlyMap<string, string>, id: string) => names.get(id) ?? id
  return {
    project: user.projectName,
    name,
    enabled,
    ...switchesOf(user),
    instanceRoles,
    tokenLifetimeSeconds: user.tokenLifetimeSeconds,
    tokenClaims: claimsInWords(user.tokenClaims),
    projectRoles: [...user.projectRoles]
      .map(([projectId, roles]) => ({ project: known(projects, projectId), roles }))
      .toSorted((a, b) => compare(a.project, b.project)),
    managedProjects: [...user.managedProjects]
      .map(([projectId, role]) => ({ project: known(projects, projectId), role }))
      .toSorted((a, b) => compare(a.project, b.project)),
    scopes: user.customScopes,
    publicKeys: inOrder(
      liveCredentials(user, 'user_key', clock).map(({ publicJwk, expiresAt }) => ({ publicJwk, expiresAt })),
    ),
    federatedIdentities: inOrder(
      credentialsOf(user, 'federated_identity').map(({ issuerId, subject, audience, claims }) => {
        return { issuer: known(issuers, issuerId), subject, audience, claims: inOrder(claims) }
      }),
    ),
    clientCertificates: inOrder(
      liveCredentials(user, 'client_certificate', clock).map(({ match, value, expiresAt }) => {
        return { match, value, expiresAt }
      }),
    ),
  }
}

/** So that two exports of the same are equal: in the database they have the order of ids. */
function inOrder<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, text: canonicalJson(item) }))
    .toSorted((a, b) => compare(a.text, b.text))
    .map(({ item }) => item)
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return compare(a.name, b.name)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
