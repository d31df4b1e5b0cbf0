/**
 * Whether a token would verify now, with the key set that verifiers get. Nothing is sent anywhere.
 */
import { type AlgorithmFacts, KEY_ALGORITHMS, type KeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import type { DecodedToken } from './decoded-token.ts'

/** What a verifier would find. */
export interface Verification {
  readonly isValid: boolean
  /** The checks, in the order in which verifiers make them. */
  readonly checks: readonly Check[]
}

/** One check. */
export interface Check {
  readonly name: string
  readonly passed: boolean
  readonly says: string
}

const JWKS = '/.well-known/openid-configuration/jwks'

type PublishedKey = JsonWebKey & { readonly kid?: string }

/** The key set as verifiers get it. @throws {Error} if it cannot be fetched. */
export async function fetchKeySet(): Promise<readonly PublishedKey[]> {
  const response = await fetch(JWKS, { cache: 'no-cache' })
  if (!response.ok) throw new Error(`the key set was answered with ${response.status}`)
  return ((await response.json()) as { keys: PublishedKey[] }).keys
}

/** Verifies the signature, the issuer and the time. @param now In milliseconds. */
export async function verifyToken(
  token: DecodedToken,
  { keys, issuer, now }: { readonly keys: readonly PublishedKey[]; readonly issuer: string; readonly now: number },
): Promise<Verification> {
  const { kid } = token.header
  const key = keys.find((candidate) => candidate.kid === kid)
  const checks: Check[] = [
    {
      name: 'Key',
      passed: key !== undefined,
      says: key === undefined ? 'is not published: it was deleted or revoked, or is of another issuer' : 'is published',
    },
  ]
  if (key !== undefined) checks.push(await checkSignature(token, key))
  checks.push(checkIssuer(token, issuer), ...checkTime(token, now))
  return { isValid: checks.every(({ passed }) => passed), checks }
}

async function checkSignature(token: DecodedToken, key: PublishedKey): Promise<Check> {
  const { alg } = token.header
  const name = 'Signature'
  if (typeof alg !== 'string' || !Object.hasOwn(KEY_ALGORITHMS, alg)) {
    return { name, passed: false, says: 'its algorithm is none that Keyturn signs with' }
  }
  if (key.alg !== alg) return { name, passed: false, says: 'its algorithm is not that of the key' }
  const { importing, verifying } = parametersOf(KEY_ALGORITHMS[alg as KeyAlgorithm])
  try {
    const { kty, n, e, crv, x, y } = key
    const jwk = JSON.parse(JSON.stringify({ kty, n, e, crv, x, y })) as JsonWebKey
    const publicKey = await crypto.subtle.importKey('jwk', jwk, importing, false, ['verify'])
    const passed = await crypto.subtle.verify(verifying, publicKey, token.signature, token.signed)
    return { name, passed, says: passed ? 'is that of the key' : 'is wrong: the token was altered' }
  } catch {
    return {
      name,
      passed: false,
      says: 'cannot be verified: this browser does not know the algorithm, or the signature is not one',
    }
  }
}

function parametersOf(facts: AlgorithmFacts) {
  const hash = facts.hash === null ? '' : facts.hash.replace('sha', 'SHA-')
  switch (facts.kty) {
    case 'RSA':
      return { importing: { name: 'RSASSA-PKCS1-v1_5', hash }, verifying: { name: 'RSASSA-PKCS1-v1_5' } }
    case 'EC':
      return { importing: { name: 'ECDSA', namedCurve: facts.crv }, verifying: { name: 'ECDSA', hash } }
    case 'OKP':
      return { importing: { name: facts.crv }, verifying: { name: facts.crv } }
  }
}

function checkIssuer({ claims: { iss } }: DecodedToken, issuer: string): Check {
  const passed = iss === issuer
  return { name: 'Issuer', passed, says: passed ? 'is this instance' : `is not ${issuer}` }
}

function checkTime({ claims: { exp, nbf } }: DecodedToken, now: number): Check[] {
  const isLive = typeof exp === 'number' && now < exp * 1000
  const checks: Check[] = [
    { name: 'Expiry', passed: isLive, says: isLive ? 'has not come' : 'has passed, or is missing' },
  ]
  if (typeof nbf === 'number' && now < nbf * 1000) {
    checks.push({ name: 'Not before', passed: false, says: 'has not come' })
  }
  return checks
}
