/** What a configuration decides about a resource, as a list of facts in words. Two states of a resource differ if their facts do. */
import type { TrustedIssuer } from '../federation/trusted-issuer.ts'
import { credentialsOf, type NewCredential, type UserKey } from '../identities/credential.ts'
import type { Project } from '../identities/project.ts'
import { type ServiceUser, USER_SWITCHES } from '../identities/service-user.ts'
import { algorithmOf } from '../keys/key-algorithm.ts'
import type { RotationPolicy } from '../keys/rotation-policy.ts'

/** The field of a configuration with the credentials of a kind. Secrets and tokens have none: a file must not have them. */
const CREDENTIAL_FIELDS = {
  user_key: 'publicKeys',
  federated_identity: 'federatedIdentities',
  client_certificate: 'clientCertificates',
} as const

type ConfiguredKind = keyof typeof CREDENTIAL_FIELDS

export type ConfiguredCredential = Extract<NewCredential, { readonly kind: ConfiguredKind }>

export const CONFIGURED_KINDS = Object.keys(CREDENTIAL_FIELDS) as readonly ConfiguredKind[]

interface Fact {
  readonly field: string
  /** Different if the fact is. */
  readonly words: string
  /** Whether the field has several facts, each of which comes and goes by itself. */
  readonly isItem: boolean
}

export interface FieldDifference {
  readonly field: string
  readonly before: string
  readonly after: string
  /** How many users that the plan does not name lose what is taken away. */
  readonly otherUsers?: number
}

/** The names of what a service user refers to by id. */
export interface Names {
  readonly projects: ReadonlyMap<string, string>
  readonly issuers: ReadonlyMap<string, string>
  readonly thumbprintOf: (jwk: UserKey['publicJwk']) => string
}

/** What is different: removed facts before added ones, by field. */
export function differencesOf(before: readonly Fact[], after: readonly Fact[]): readonly FieldDifference[] {
  const fields = new Set([...before, ...after].map(({ field }) => field))
  return [...fields].flatMap((field) => {
    const removed = without(before, after, field)
    const added = without(after, before, field)
    if (removed.length === 0 && added.length === 0) return []
    const isItem = [...removed, ...added].every((fact) => fact.isItem)
    if (!isItem) return [{ field, before: removed[0]?.words ?? '', after: added[0]?.words ?? '' }]
    return [
      ...removed.map(({ words }) => ({ field, before: words, after: '' })),
      ...added.map(({ words }) => ({ field, before: '', after: words })),
    ]
  })
}

export function projectFacts({ roles, scopes, audiences, rolesClaim }: Project): readonly Fact[] {
  return [
    ...items('roles', roles),
    ...items('scopes', scopes),
    ...items('audiences', audiences),
    value('roles_claim', yesOrNo(rolesClaim)),
  ]
}

export function userFacts(user: ServiceUser, names: Names): readonly Fact[] {
  return [
    value('enabled', yesOrNo(user.enabled)),
    ...USER_SWITCHES.map((name) => value(name, yesOrNo(user[name]))),
    value('tokenLifetime', user.tokenLifetimeSeconds === null ? '' : `${user.tokenLifetimeSeconds}s`),
    value('tokenClaims', claimsInWords(user.tokenClaims)),
    ...items('instanceRoles', user.instanceRoles),
    ...[...user.projectRoles].flatMap(([projectId, roles]) =>
      items(`projectRoles.${names.projects.get(projectId) ?? projectId}`, roles),
    ),
    ...[...user.managedProjects].map(([projectId, role]) =>
      value(`managedProjects.${names.projects.get(projectId) ?? projectId}`, role),
    ),
    ...items('scopes', user.customScopes),
    ...CONFIGURED_KINDS.flatMap((kind) =>
      items(
        CREDENTIAL_FIELDS[kind],
        credentialsOf(user, kind).map((credential) => credentialInWords(credential, names)),
      ),
    ),
  ]
}

export function issuerFacts(issuer: TrustedIssuer, { thumbprintOf }: Names): readonly Fact[] {
  const { keys, algorithms, maxLifetimeSeconds } = issuer
  const limits = [...items('algorithms', algorithms), value('maxLifetimeSeconds', String(maxLifetimeSeconds))]
  if (keys.kind === 'given') {
    return [
      ...limits,
      ...items(
        'keys.jwks',
        keys.keys.map((publicJwk) => keyInWords(publicJwk, { thumbprintOf }).join(', ')),
      ),
    ]
  }
  const { kind, url, caCertificates, maxStalenessSeconds } = keys.source
  return [
    ...limits,
    value('keys', kind === 'discovery' ? 'discovery' : `${kind} ${url}`),
    value('keys.caCertificates', caCertificates ?? ''),
    value('keys.maxStalenessSeconds', String(maxStalenessSeconds)),
  ]
}

export function policyFacts(policy: RotationPolicy): readonly Fact[] {
  const { config } = policy
  const size = config.kind === 'rsa' ? ` ${config.bits}` : ''
  return [
    value('enabled', yesOrNo(policy.enabled)),
    value('config', `${algorithmOf(config)}${size}`),
    value('rotationInterval', `${policy.rotationIntervalSeconds}s`),
    value('publishAhead', `${policy.publishAheadSeconds}s`),
    value('retention', `${policy.retentionSeconds}s`),
    value('rollbackWindow', `${policy.rollbackWindowSeconds}s`),
    value('keepStandby', yesOrNo(policy.keepStandby)),
  ]
}

export function credentialInWords(credential: ConfiguredCredential, names: Names): string {
  const { expiresAt } = credential
  const end = expiresAt === null ? [] : [`until ${expiresAt.toISOString()}`]
  return [...partsInWords(credential, names), ...end].join(', ')
}

function partsInWords(credential: ConfiguredCredential, names: Names): readonly string[] {
  switch (credential.kind) {
    case 'user_key':
      return keyInWords(credential.publicJwk, names)
    case 'client_certificate':
      return [`${credential.match} ${credential.value}`]
    case 'federated_identity': {
      const { issuerId, subject, audience, claims } = credential
      return [
        `${JSON.stringify(subject)} of ${names.issuers.get(issuerId) ?? issuerId}`,
        ...(audience === null ? [] : [`audience ${JSON.stringify(audience)}`]),
        ...claims.map(({ pointer, value }) => `${pointer} = ${JSON.stringify(value)}`).toSorted(),
      ]
    }
  }
}

function keyInWords(publicJwk: UserKey['publicJwk'], { thumbprintOf }: Pick<Names, 'thumbprintOf'>): readonly string[] {
  const { kid, alg } = publicJwk
  return [
    thumbprintOf(publicJwk),
    ...(kid === undefined ? [] : [`kid ${JSON.stringify(kid)}`]),
    ...(alg === undefined ? [] : [`alg ${alg}`]),
  ]
}

/** Claims in one spelling; empty: none. */
export function claimsInWords(claims: ServiceUser['tokenClaims']): string {
  return Object.keys(claims).length === 0 ? '' : canonicalJson(claims)
}

function without(facts: readonly Fact[], others: readonly Fact[], field: string): readonly Fact[] {
  const known = new Set(others.filter((fact) => fact.field === field).map(({ words }) => words))
  return facts.filter((fact) => fact.field === field && !known.has(fact.words))
}

function items(field: string, all: readonly string[]): readonly Fact[] {
  return all.map((words) => ({ field, words, isItem: true }))
}

function value(field: string, words: string): Fact {
  return { field, words, isItem: false }
}

function yesOrNo(flag: boolean): string {
  return flag ? 'yes' : 'no'
}

/** @param value A value that was parsed from JSON. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
