/**
 * Verifies JWTs of trusted issuers with the keys that are known of them. The header of a JWT chooses among these keys, and never brings
 * one: `jwk`, `jku`, `x5c` and `x5u` are ignored (RFC 8725 §3.10).
 */
import { type CompactVerifyGetKey, type CryptoKey, compactVerify, decodeJwt, decodeProtectedHeader, errors } from 'jose'
import { isCompactJws } from '../domain/compact-jws.ts'
import { mayVouchFor, type TrustedIssuer, trustDomainOf } from '../domain/federation/trusted-issuer.ts'
import { MAX_SUBJECT_LENGTH } from '../domain/identities/federated-identity.ts'
import { isAssertionAlgorithm } from '../domain/keys/assertion-algorithm.ts'
import type {
  FederatedAssertionContent,
  FederatedAssertionType,
  FederatedVerification,
} from '../domain/ports/federation.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../domain/time.ts'

/** Bounds the work before a JWT is parsed. Those of clusters and CI systems have 1 to 3 KB. */
const MAX_LENGTH = 16 * 1024

/**
 * Values of `typ` in lower case (RFC 8725 §3.11): none, that of any JWT, those of JWT-SVIDs and assertions, and that of access tokens,
 * which another token service issues. Others, such as a DPoP proof or a logout token, prove nothing about their sender.
 */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'jose', 'client-authentication+jwt', 'at+jwt']

/** With how many keys the signature of a JWT is tried. Only those without `kid`, or with one that is there twice, can fit so many. */
const MAX_CANDIDATES = 10

type Members = Readonly<Record<string, unknown>>

/** Why a JWT is not believed. For the operator. */
class Distrust extends Error {}

/** Finds the key of a JWT by its header. @throws {DomainError} if the keys are not known at the moment. */
export type KeyFinder = CompactVerifyGetKey

export interface FederationContext {
  readonly issuers: readonly TrustedIssuer[]
  readonly now: Date
  readonly finderOf: (issuer: TrustedIssuer) => KeyFinder
}

/** Verifies a JWT at this time: see `FederatedTokenVerifier`. */
export async function verifyFederatedToken(
  { jwt, type }: FederatedAssertionContent,
  { issuers, now, finderOf }: FederationContext,
): Promise<FederatedVerification> {
  try {
    const { header, claims } = decode(jwt)
    const issuer = issuerOf(claims, type, issuers)
    await assertSignature(jwt, { header, issuer, find: finderOf(issuer) })
    assertDates(claims, issuer, now)
    // The sender would have to prove the key; without that a stolen token would work as an assertion (RFC 7800 §3).
    if (claims.cnf !== undefined) distrust('cnf: a JWT that is bound to a key proves nothing without that key')
    const { issuerId } = issuer
    const token = { issuerId, subject: subjectOf(claims, issuer), audience: audienceOf(claims), claims }
    return { kind: 'verified', token }
  } catch (error) {
    if (error instanceof Distrust) return { kind: 'refused', reason: error.message }
    throw error
  }
}

function decode(jwt: string): { readonly header: Members; readonly claims: Members } {
  if (jwt.length > MAX_LENGTH) distrust(`the JWT must have at most ${MAX_LENGTH} characters`)
  if (!isCompactJws(jwt)) distrust('the JWT must be three parts in base64url without padding')
  try {
    return { header: decodeProtectedHeader(jwt) as Members, claims: decodeJwt(jwt) }
  } catch {
    return distrust('the header and the claims of the JWT must be JSON objects')
  }
}

/** The issuer that the claims name, which is believed only after the signature. */
function issuerOf(claims: Members, type: FederatedAssertionType, issuers: readonly TrustedIssuer[]): TrustedIssuer {
  const { iss, sub } = claims
  const name = type === 'jwt-spiffe' ? (typeof sub === 'string' ? trustDomainOf(sub) : undefined) : iss
  // The whole text, in every byte: with a slash at its end it is another issuer.
  const issuer = issuers.find((candidate) => candidate.issuer === name)
  return (
    issuer ?? distrust(type === 'jwt-spiffe' ? 'the trust domain of sub is not trusted' : 'iss is not a trusted issuer')
  )
}

interface Signed {
  readonly header: Members
  readonly issuer: TrustedIssuer
  readonly find: KeyFinder
}

async function assertSignature(jwt: string, { header, issuer, find }: Signed): Promise<void> {
  const { alg, typ, crit, b64 } = header
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
  if (!TYPES.includes(type)) distrust('typ is that of another kind of JWT')
  // RFC 7515 §4.1.11, RFC 7797 §7.
  if (crit !== undefined || b64 !== undefined) distrust('crit and b64 must not be there')
  if (!isAssertionAlgorithm(alg) || !issuer.algorithms.includes(alg)) distrust('alg is not allowed for the issuer')
  try {
    await compactVerify(jwt, find)
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) distrust('the issuer has no key with this kid for this alg')
    if (error instanceof errors.JWKSMultipleMatchingKeys && (await isByOneOf(error, jwt))) return
    // Besides, `jose` and the platform throw these for a key that cannot be used.
    if (![errors.JOSEError, TypeError, DOMException].some((kind) => error instanceof kind)) throw error
    distrust('the signature is not by a key of the issuer')
  }
}

async function isByOneOf(keys: AsyncIterable<CryptoKey>, jwt: string): Promise<boolean> {
  let tries = 0
  for await (const key of keys) {
    tries += 1
    if (tries > MAX_CANDIDATES) distrust('too many keys of the issuer fit: the JWT must name one by kid')
    const isSigner = await compactVerify(jwt, key).then(
      () => true,
      () => false,
    )
    if (isSigner) return true
  }
  return false
}

function assertDates({ exp, iat, nbf }: Members, { maxLifetimeSeconds }: TrustedIssuer, now: Date): void {
  const seconds = now.getTime() / 1000
  if (!isTime(exp)) distrust('exp must be a number')
  if (exp <= seconds) distrust('exp must lie in the future')
  for (const [name, time] of Object.entries({ iat, nbf })) {
    if (time === undefined) continue
    if (!isTime(time)) distrust(`${name} must be a number`)
    if (time > seconds + CLOCK_TOLERANCE_SECONDS) distrust(`${name} must not lie in the future`)
  }
  if (exp - (isTime(iat) ? iat : seconds) > maxLifetimeSeconds) distrust('the lifetime is over the limit of the issuer')
}

function subjectOf({ sub }: Members, issuer: TrustedIssuer): string {
  // PostgreSQL cannot search for NUL.
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH || sub.includes('\0'))
    return distrust(`sub must be a text of 1 to ${MAX_SUBJECT_LENGTH} characters`)
  return mayVouchFor(issuer, sub) ? sub : distrust('sub must be a SPIFFE ID of the trust domain')
}

/** A list may have one audience only: a JWT for several services could be sent here by another of them. */
function audienceOf({ aud }: Members): string {
  const audience: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud
  return typeof audience === 'string' ? audience : distrust('aud must be one text')
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function distrust(reason: string): never {
  throw new Distrust(reason)
}
