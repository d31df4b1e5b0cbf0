/**
 * What a configuration decides about a resource, as a list of facts in words. Two states of a resource differ if their facts do.
 */
import type { TrustedIssuer } from '../federation/trusted-issuer.ts'
import type { ClientCertificate } from '../identities/client-certificate.ts'
import type { UserKey } from '../identities/credential.ts'
import type { Project } from '../identities/project.ts'
import type { ServiceUser } from '../identities/service-user.ts'
import { algorithmOf } from '../keys/key-algorithm.ts'
import type { RotationPolicy } from '../keys/rotation-policy.ts'
import { canonicalJson } from './canonical-json.ts'

interface Fact {
  readonly field: string
  /** Different if the fact is. */
  readonly words: string
  /** Whether the field has several facts, each of which comes and goes by itself. */
  readonly isItem: boolean
}

/** One difference. Empty words: nothing. */
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
  /** The thumbprint of a public key (RFC 7638). */
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
    value('clientCredentialsEnabled', yesOrNo(user.clientCredentialsEnabled)),
    value('boundTokensRequired', yesOrNo(user.boundTokensRequired)),
    value('certificateBoundTokens', yesOrNo(user.certificateBoundTokens)),
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
    ...items(
      'publicKeys',
      user.keys.map((key) => keyInWords(key, names)),
    ),
    ...items(
      'federatedIdentities',
      user.federatedIdentities.map((identity) =>
        identityInWords({ ...identity, issuer: names.issuers.get(identity.issuerId) ?? identity.issuerId }),
      ),
    ),
    ...items('clientCertificates', user.certificates.map(certificateInWords)),
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
        keys.keys.map((publicJwk) => keyInWords({ publicJwk, expiresAt: null }, { thumbprintOf })),
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

/** A public key, its other members and its end. */
export function keyInWords(
  { publicJwk, expiresAt }: Pick<UserKey, 'publicJwk' | 'expiresAt'>,
  { thumbprintOf }: Pick<Names, 'thumbprintOf'>,
): string {
  const { kid, alg } = publicJwk
  return [
    thumbprintOf(publicJwk),
    ...(kid === undefined ? [] : [`kid ${JSON.stringify(kid)}`]),
    ...(alg === undefined ? [] : [`alg ${alg}`]),
    ...until(expiresAt),
  ].join(', ')
}

/** A federated identity, by the `issuer` of its issuer. */
export function identityInWords(identity: {
  readonly issuer: string
  readonly subject: string
  readonly audience: string | null
  readonly claims: readonly { readonly pointer: string; readonly value: string }[]
}): string {
  const { issuer, subject, audience, claims } = identity
  return [
    `${JSON.stringify(subject)} of ${issuer}`,
    ...(audience === null ? [] : [`audience ${JSON.stringify(audience)}`]),
    ...claims.map(({ pointer, value }) => `${pointer} = ${JSON.stringify(value)}`).toSorted(),
  ].join(', ')
}

/** A client certificate and its end. */
export function certificateInWords({
  match,
  value,
  expiresAt,
}: Pick<ClientCertificate, 'match' | 'value' | 'expiresAt'>): string {
  return [`${match} ${value}`, ...until(expiresAt)].join(', ')
}

/** Claims in one spelling; empty: none. */
export function claimsInWords(claims: ServiceUser['tokenClaims']): string {
  return Object.keys(claims).length === 0 ? '' : canonicalJson(claims)
}

function without(facts: readonly Fact[], others: readonly Fact[], field: string): readonly Fact[] {
  const known = new Set(others.filter((fact) => fact.field === field).map(({ words }) => words))
  return facts.filter((fact) => fact.field === field && !known.has(fact.words))
}

function until(expiresAt: Date | null): readonly string[] {
  return expiresAt === null ? [] : [`until ${expiresAt.toISOString()}`]
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
