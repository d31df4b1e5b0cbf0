/**
 * The credentials of a service user in a plan: public keys, federated identities, client certificates.
 *
 * Each is compared by what a configuration says of it. Those that have expired and are not in the configuration stay until another one of the kind
 * is added: they do nothing, and their dates may not be asked of a file.
 */
import { addIdentity, removeIdentity } from '../federation/federated-identity.ts'
import { addCertificate, parseCertificateValue, removeCertificate } from '../identities/client-certificate.ts'
import { addKeys, isLive, removeKey } from '../identities/credential.ts'
import type { ServiceUser } from '../identities/service-user.ts'
import { certificateInWords, identityInWords, keyInWords } from './description.ts'
import type { Planning } from './plan.ts'
import type { Surroundings, WantedUser } from './plan-users.ts'

export function planCredentials(
  before: ServiceUser,
  user: WantedUser,
  surroundings: Surroundings,
  planning: Planning,
): ServiceUser {
  return planCertificates(
    planIdentities(planKeys(before, user, planning), user, surroundings, planning),
    user,
    planning,
  )
}

interface Wanted<T> {
  readonly item: T
  readonly words: string
  readonly path: string
}

/** What to add, and what to remove before. Equal ones count once. */
function compare<Has extends { readonly words: string; readonly expiresAt?: Date | null }, Wants>(
  has: readonly Has[],
  wants: readonly Wanted<Wants>[],
  clock: Date,
) {
  const wanted = new Map(wants.toReversed().map((want) => [want.words, want]))
  const known = new Set(has.map(({ words }) => words))
  const added = wants.filter((want) => wanted.get(want.words) === want && !known.has(want.words))
  const removed = has.filter(
    ({ words, expiresAt = null }) => !wanted.has(words) && (added.length > 0 || isLive({ expiresAt }, clock)),
  )
  return { added, removed }
}

function planKeys(before: ServiceUser, { wanted, path }: WantedUser, { options, mistakes }: Planning): ServiceUser {
  const { moment, newId } = options
  const has = before.keys.map((key) => ({ ...key, words: keyInWords(key, options) }))
  const wants = wanted.publicKeys.flatMap((item, index) =>
    item === null ? [] : [{ item, words: keyInWords(item, options), path: `${path}.publicKeys[${index}]` }],
  )
  const { added, removed } = compare(has, wants, moment.clock)
  let next = removed.reduce((user, { keyId }) => removeKey(user, keyId), before)
  for (const { item, path: place } of added) {
    const { publicJwk, expiresAt } = item
    const key = { keyId: newId(), publicJwk, createdAt: moment.date, expiresAt }
    next = mistakes.applied(place, next, (user) => addKeys(user, [key], moment.clock))
  }
  return next
}

function planIdentities(
  before: ServiceUser,
  { wanted, path }: WantedUser,
  { issuers: { next: trustedIssuers, refused } }: Surroundings,
  { options, mistakes }: Planning,
): ServiceUser {
  const { moment, newId } = options
  const issuers = new Map(trustedIssuers.map(({ issuerId, issuer }) => [issuerId, issuer]))
  const ids = new Map(trustedIssuers.map(({ issuerId, issuer }) => [issuer, issuerId]))
  const has = before.federatedIdentities.map((identity) => ({
    ...identity,
    words: identityInWords({ ...identity, issuer: issuers.get(identity.issuerId) ?? identity.issuerId }),
  }))
  const wants = wanted.federatedIdentities.map((item, index) => ({
    item,
    words: identityInWords(item),
    path: `${path}.federatedIdentities[${index}]`,
  }))
  const { added, removed } = compare(has, wants, moment.clock)
  let next = removed.reduce((user, { identityId }) => removeIdentity(user, identityId), before)
  for (const { item, path: place } of added) {
    const { issuer, subject, audience, claims } = item
    const issuerId = ids.get(issuer)
    if (issuerId === undefined) {
      if (!refused.has(issuer))
        mistakes.add(`${place}.issuer`, 'trusted_issuer_not_found', `${issuer} is no trusted issuer`)
      continue
    }
    const identity = { identityId: newId(), issuerId, subject, audience, claims, createdAt: moment.date }
    next = mistakes.applied(place, next, (user) => addIdentity(user, identity))
  }
  return next
}

function planCertificates(
  before: ServiceUser,
  { wanted, path }: WantedUser,
  { options, mistakes }: Planning,
): ServiceUser {
  const { moment, newId } = options
  const has = before.certificates.map((certificate) => ({ ...certificate, words: certificateInWords(certificate) }))
  const wants = wanted.clientCertificates.flatMap(({ match, value: text, expiresAt }, index) => {
    const place = `${path}.clientCertificates[${index}]`
    const value = mistakes.checked(place, () => parseCertificateValue(match, text))
    if (value === undefined) return []
    const item = { match, value, expiresAt }
    return [{ item, words: certificateInWords(item), path: place }]
  })
  const { added, removed } = compare(has, wants, moment.clock)
  let next = removed.reduce((user, { certificateId }) => removeCertificate(user, certificateId), before)
  for (const { item, path: place } of added) {
    const certificate = { certificateId: newId(), ...item, createdAt: moment.date }
    next = mistakes.applied(place, next, (user) => addCertificate(user, certificate, moment.clock))
  }
  return next
}
