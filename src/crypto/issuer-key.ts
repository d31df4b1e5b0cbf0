/**
 * Reads the public keys of trusted issuers: a JWK Set (RFC 7517 §5), which may be the bundle of a SPIFFE trust domain.
 */
import { DomainError } from '../domain/errors.ts'
import type { IssuerKey } from '../domain/federation/trusted-issuer.ts'
import { parseUserKeys } from './user-key.ts'

/** In a bundle, keys for X.509-SVIDs are beside those for JWT-SVIDs (SPIFFE Trust Domain and Bundle §4.2.2). */
const X509_SVID = 'x509-svid'
const JWT_SVID = 'jwt-svid'

/** The keys for signatures of JWTs, as `parseUserKeys`. @throws {DomainError} `trusted_issuer_invalid` that says which key is wrong and why. */
export function parseIssuerKeys(json: string): readonly IssuerKey[] {
  try {
    return parseUserKeys(forSignatures(json))
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    throw new DomainError('trusted_issuer_invalid', error.message, { cause: error })
  }
}

/** The same set without the keys for X.509-SVIDs, and with those for JWT-SVIDs as keys for signatures. */
function forSignatures(json: string): string {
  const document = parseSet(json)
  if (document === undefined) return json
  const keys = document.keys.filter((key) => useOf(key) !== X509_SVID)
  return JSON.stringify({ keys: keys.map((key) => (useOf(key) === JWT_SVID ? { ...key, use: 'sig' } : key)) })
}

function parseSet(json: string): { readonly keys: readonly object[] } | undefined {
  try {
    const document: unknown = JSON.parse(json)
    if (typeof document !== 'object' || document === null || !('keys' in document)) return undefined
    const { keys } = document
    return Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null) ? { keys } : undefined
  } catch {
    // `parseUserKeys` says what is wrong.
    return undefined
  }
}

function useOf(key: object): unknown {
  return 'use' in key ? key.use : undefined
}
