/**
 * The credentials of a service user in a plan: public keys, federated identities, client certificates.
 *
 * Each is compared by what a configuration says of it. Those that have expired and are not in the configuration stay until another one of the kind
 * is added: they do nothing, and their dates may not be asked of a file.
 */
import { parseCertificateValue } from '../identities/client-certificate.ts'
import { addCredential, credentialsOf, isLive, removeCredential } from '../identities/credential.ts'
import type { ServiceUser } from '../identities/service-user.ts'
import { CONFIGURED_KINDS, type ConfiguredCredential, credentialInWords } from './description.ts'
import type { Planning } from './plan.ts'
import type { NamedSurroundings, WantedUser } from './plan-users.ts'

interface Wanted {
  readonly facts: ConfiguredCredential
  readonly words: string
  readonly path: string
}

export function planCredentials(
  before: ServiceUser,
  user: WantedUser,
  surroundings: NamedSurroundings,
  planning: Planning,
): ServiceUser {
  const { mistakes, options } = planning
  const { moment, newId } = options
  const wants = wantedCredentials(user, surroundings, planning)
  const first = new Map(wants.toReversed().map((want) => [want.words, want]))
  let next = before
  for (const kind of CONFIGURED_KINDS) {
    const has = credentialsOf(before, kind).map((credential) => {
      return { credential, words: credentialInWords(credential, surroundings.names) }
    })
    const known = new Set(has.map(({ words }) => words))
    const added = wants.filter((want) => {
      return want.facts.kind === kind && first.get(want.words) === want && !known.has(want.words)
    })
    for (const { credential, words } of has) {
      if (first.has(words) || (added.length === 0 && !isLive(credential, moment.clock))) continue
      next = removeCredential(next, kind, credential.credentialId)
    }
    for (const { facts, path } of added) {
      const credential = { ...facts, credentialId: newId(), createdAt: moment.date }
      next = mistakes.applied(path, next, (user) => addCredential(user, credential, moment.clock))
    }
  }
  return next
}

/** As a configuration has them, but for those with a mistake. */
function wantedCredentials(
  { wanted, path }: WantedUser,
  { issuers, names }: NamedSurroundings,
  { mistakes }: Planning,
): readonly Wanted[] {
  const want = (place: string, facts: ConfiguredCredential | undefined): readonly Wanted[] =>
    facts === undefined ? [] : [{ facts, words: credentialInWords(facts, names), path: place }]
  const issuerIds = new Map(issuers.next.map(({ issuerId, issuer }) => [issuer, issuerId]))
  return [
    ...wanted.publicKeys.flatMap((key, index) =>
      want(`${path}.publicKeys[${index}]`, key === null ? undefined : { kind: 'user_key', ...key }),
    ),
    ...wanted.federatedIdentities.flatMap(({ issuer, ...facts }, index) => {
      const place = `${path}.federatedIdentities[${index}]`
      const issuerId = issuerIds.get(issuer)
      if (issuerId !== undefined)
        return want(place, { kind: 'federated_identity', issuerId, ...facts, expiresAt: null })
      if (!issuers.refused.has(issuer))
        mistakes.add(`${place}.issuer`, 'trusted_issuer_not_found', `${issuer} is no trusted issuer`)
      return []
    }),
    ...wanted.clientCertificates.flatMap(({ match, value: text, expiresAt }, index) => {
      const place = `${path}.clientCertificates[${index}]`
      const value = mistakes.checked(place, () => parseCertificateValue(match, text))
      return want(place, value === undefined ? undefined : { kind: 'client_certificate', match, value, expiresAt })
    }),
  ]
}
