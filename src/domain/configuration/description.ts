/** What a configuration decides about a resource, in words. Two states of a resource differ if their words do. */
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

export type ConfiguredKind = keyof typeof CREDENTIAL_FIELDS

export type ConfiguredCredential = Extract<NewCredential, { readonly kind: ConfiguredKind }>

export const CONFIGURED_KINDS = Object.keys(CREDENTIAL_FIELDS) as readonly ConfiguredKind[]

/** Fields in words. The items of a list come and go by themselves. A field that is left out is empty. */
type Facts = Readonly<Record<string, string | readonly string[]>>

export interface FieldDifference {
  readonly field: string
  readonly before: string
  readonly after: string
}

/** The names of what a service user refers to by id. */
export interface Names {
  readonly projects: ReadonlyMap<string, string>
  readonly issuers: ReadonlyMap<string, string>
  readonly thumbprintOf: (jwk: UserKey['publicJwk']) => string
}

/** What is different, by field: removed items before added ones. */
export function differencesOf(before: Facts, after: Facts): readonly FieldDifference[] {
  const fields = [before, after].flatMap((facts) =>
    Object.entries(facts).flatMap(([field, value]) => (typeof value === 'string' || value.length > 0 ? [field] : [])),
  )
  return [...new Set(fields)].flatMap((field) => {
    const { [field]: had = '' } = before
    const { [field]: has = '' } = after
    if (typeof had === 'string' && typeof has === 'string')
      return had === has ? [] : [{ field, before: had, after: has }]
    return [
      ...without(had, has).map((words) => ({ field, before: words, after: '' })),
      ...without(has, had).map((words) => ({ field, before: '', after: words })),
    ]
  })
}

function without(items: string | readonly string[], others: string | readonly string[]): readonly string[] {
  const known = new Set(others)
  return [...items].filter((item) => !known.has(item))
}

export function projectFacts({ roles, scopes, audiences, rolesClaim }: Project): Facts {
  return { roles, scopes, audiences, roles_claim: yesOrNo(rolesClaim) }
}

export function userFacts(user: ServiceUser, names: Names): Facts {
  const inProject = (field: string, id: string) => `${field}.${names.projects.get(id) ?? id}`
  return {
    enabled: yesOrNo(user.enabled),
    ...Object.fromEntries(USER_SWITCHES.map((name) => [name, yesOrNo(user[name])])),
    tokenLifetime: user.tokenLifetimeSeconds === null ? '' : `${user.tokenLifetimeSeconds}s`,
    tokenClaims: claimsInWords(user.tokenClaims),
    instanceRoles: user.instanceRoles,
    ...Object.fromEntries([...user.projectRoles].map(([id, roles]) => [inProject('projectRoles', id), roles])),
    ...Object.fromEntries([...user.managedProjects].map(([id, role]) => [inProject('managedProjects', id), role])),
    scopes: user.customScopes,
    ...Object.fromEntries(
      CONFIGURED_KINDS.map((kind) => [
        CREDENTIAL_FIELDS[kind],
        credentialsOf(user, kind).map((credential) => credentialInWords(credential, names)),
      ]),
    ),
  }
}

export function issuerFacts(issuer: TrustedIssuer, names: Pick<Names, 'thumbprintOf'>): Facts {
  const { keys, algorithms, maxLifetimeSeconds } = issuer
  const limits = { algorithms, maxLifetimeSeconds: String(maxLifetimeSeconds) }
  if (keys.kind === 'given')
    return { ...limits, 'keys.jwks': keys.keys.map((publicJwk) => keyInWords(publicJwk, names).join(', ')) }
  const { kind, url, caCertificates, maxStalenessSeconds } = keys.source
  return {
    ...limits,
    keys: kind === 'discovery' ? 'discovery' : `${kind} ${url}`,
    'keys.caCertificates': caCertificates ?? '',
    'keys.maxStalenessSeconds': String(maxStalenessSeconds),
  }
}

export function policyFacts(policy: RotationPolicy): Facts {
  const { config } = policy
  const size = config.kind === 'rsa' ? ` ${config.bits}` : ''
  return {
    enabled: yesOrNo(policy.enabled),
    config: `${algorithmOf(config)}${size}`,
    rotationInterval: `${policy.rotationIntervalSeconds}s`,
    publishAhead: `${policy.publishAheadSeconds}s`,
    retention: `${policy.retentionSeconds}s`,
    rollbackWindow: `${policy.rollbackWindowSeconds}s`,
    keepStandby: yesOrNo(policy.keepStandby),
  }
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
