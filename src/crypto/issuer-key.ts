/**
 * Reads the public keys of trusted issuers: JWK Sets (RFC 7517 §5), and the bundles of SPIFFE trust domains. And the certificates of the
 * servers that publish them.
 */
import { X509Certificate } from 'node:crypto'
import { createLocalJWKSet, errors } from 'jose'
import { DomainError } from '../domain/errors.ts'
import type { IssuerKey } from '../domain/federation/trusted-issuer.ts'
import type { KeyFinder } from './federated-token.ts'
import { parsePublicJwk, parseUserKeys, readUserKeys } from './user-key.ts'

/** In a bundle, keys for X.509-SVIDs are beside those for JWT-SVIDs (SPIFFE Trust Domain and Bundle §4.2.2). */
const X509_SVID = 'x509-svid'
const JWT_SVID = 'jwt-svid'

/** Of those that can be used. Keyturn itself publishes so many at most, unless its limit was raised. */
const MAX_PUBLISHED_KEYS = 50

/** Of all kinds. Reading each takes time that requests wait for. */
const MAX_ENTRIES = 200

const MAX_CERTIFICATES = 10

/** The keys for signatures of JWTs, as `parseUserKeys`. @throws {DomainError} `trusted_issuer_invalid` that says which key is wrong and why. */
export function parseIssuerKeys(json: string): readonly IssuerKey[] {
  try {
    const keys = parseSet(json)
    if (keys === undefined) return parseUserKeys(json)
    return readUserKeys({ keys: keys.filter(({ use }) => use !== X509_SVID).map(forSignatures) })
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    throw new DomainError('trusted_issuer_invalid', error.message, { cause: error })
  }
}

/**
 * The keys for signatures of JWTs in a set that an issuer publishes, one at least. Keys of other kinds and for other uses are left out (RFC 7517
 * §5), and so are private and symmetric ones, which anyone could sign with who has read them.
 *
 * @returns A text that says what is wrong, without anything of the set.
 */
export function parsePublishedKeys(json: string, kind: 'jwks' | 'spiffe_bundle'): readonly IssuerKey[] | string {
  const published = parseSet(json)
  if (published === undefined) return 'it is no JSON object with a list of keys'
  if (published.length > MAX_ENTRIES) return `it has more than ${MAX_ENTRIES} keys`
  const candidates = kind === 'jwks' ? published : published.filter(({ use }) => use === JWT_SVID).map(forSignatures)
  const usable = candidates.flatMap(usableKey)
  const keys = [...new Map(usable.map((key) => [JSON.stringify(key), key])).values()]
  if (keys.length > MAX_PUBLISHED_KEYS) return `it has more than ${MAX_PUBLISHED_KEYS} keys that can be used`
  return keys.length === 0 ? 'it has no key that can be used' : keys
}

/** Finds the key of a JWT among those that were given. A key without `kid` may have signed any JWT. */
export function keyFinderOf(keys: readonly IssuerKey[]): KeyFinder {
  const named = createLocalJWKSet({ keys: keys.map(forJose) })
  const unnamed = createLocalJWKSet({ keys: keys.filter(({ kid }) => kid === undefined).map(forJose) })
  return async (header, jws) => {
    try {
      return await named(header, jws)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      return await unnamed({ alg: String(header?.alg) })
    }
  }
}

/** Certificates in their usual spelling. @throws {DomainError} `trusted_issuer_invalid`. */
export function parseCaCertificates(pem: string): string {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (pem.includes('PRIVATE KEY-----'))
    refuse('they have a private key among them: send certificates only, and replace that key')
  if (blocks.length === 0 || blocks.length > MAX_CERTIFICATES)
    refuse(`give 1 to ${MAX_CERTIFICATES} certificates as PEM`)
  try {
    return blocks.map((block) => new X509Certificate(block).toString()).join('')
  } catch {
    return refuse('one of them is not valid')
  }
}

function usableKey(key: Entry): readonly IssuerKey[] {
  try {
    return [forJose(parsePublicJwk(key, 'the key'))]
  } catch (error) {
    if (error instanceof DomainError) return []
    throw error
  }
}

interface Entry {
  readonly use?: unknown
}

/** The keys of a JWK Set; undefined for all else, of which `parseUserKeys` says what is wrong. */
function parseSet(json: string): readonly Entry[] | undefined {
  try {
    const { keys } = JSON.parse(json) as { readonly keys?: unknown }
    return Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null) ? keys : undefined
  } catch {
    return undefined
  }
}

function forSignatures(key: Entry): Entry {
  return key.use === JWT_SVID ? { ...key, use: 'sig' } : key
}

/** The algorithm of Ed25519 keys has two names, and both are accepted. */
function forJose({ alg, ...key }: IssuerKey): IssuerKey {
  return alg === undefined || key.kty === 'OKP' ? key : { ...key, alg }
}

function refuse(reason: string): never {
  throw new DomainError('trusted_issuer_invalid', `the CA certificates cannot be used: ${reason}`)
}
