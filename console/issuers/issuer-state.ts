/**
 * What there is to say about the keys of a trusted issuer: where they come from, and how fetching them goes.
 */
import type { IssuerKeys, TrustedIssuer } from '../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { formatDistance, millisecondsOf } from '../format/moment.ts'

/** How a state is shown. */
export interface IssuerState {
  readonly text: string
  readonly tone: 'success' | 'warning' | 'danger' | ''
}

/** Whether its JWTs can be verified now. */
export function stateOfIssuer({ fetchedKeys }: TrustedIssuer, now: number): IssuerState {
  if (fetchedKeys === undefined) return { text: 'keys given', tone: 'success' }
  const { failure } = fetchedKeys
  const [fetchedAt, usedUntil] = [fetchedKeys.fetchDate, fetchedKeys.expirationDate].map(millisecondsOf)
  if (fetchedAt === undefined) {
    return failure === '' ? { text: 'not fetched yet', tone: '' } : { text: 'cannot be fetched', tone: 'danger' }
  }
  if (usedUntil !== undefined && usedUntil <= now) return { text: 'keys too old', tone: 'danger' }
  if (failure !== '') return { text: 'last fetch failed', tone: 'warning' }
  return { text: `fetched ${formatDistance(fetchedAt, now)}`, tone: 'success' }
}

/** Where its keys come from, in a few words. */
export function sourceNameOf(keys: IssuerKeys | undefined): string {
  switch (keys?.source.case) {
    case 'discovery':
      return 'OpenID discovery'
    case 'jwksUrl':
      return `JWKS at ${keys.source.value}`
    case 'spiffeBundleUrl':
      return `SPIFFE bundle at ${keys.source.value}`
    default:
      return 'given here'
  }
}

/** A public key, as far as a person wants to know. */
export interface PublicKey {
  readonly kid: string
  readonly kind: string
}

/** The keys that count now. */
export function publicKeysOf({ keys, fetchedKeys }: TrustedIssuer): readonly PublicKey[] {
  const text = keys?.source.case === 'jwks' ? keys.source.value : (fetchedKeys?.jwks ?? '')
  if (text === '') return []
  const { keys: jwks = [] } = JSON.parse(text) as { keys?: readonly Readonly<Record<string, unknown>>[] }
  return jwks.map(({ kid, kty, crv, alg }) => {
    const kind = [alg, crv ?? kty].filter((part) => part !== undefined).join(', ')
    return { kid: kid === undefined ? '(without kid)' : String(kid), kind }
  })
}
