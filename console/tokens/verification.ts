/**
 * What a token says, and whether it would verify now, with the key set that verifiers get. Nothing is sent anywhere.
 */
import { compactVerify, decodeJwt, decodeProtectedHeader, errors, importJWK, type JWK } from 'jose'
import { KEY_ALGORITHMS } from '../../src/domain/keys/key-algorithm.ts'

/** A JWT, decoded. */
export interface DecodedToken {
  readonly text: string
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** Decodes a JWT. Undefined: it is none. */
export function decodeToken(given: string): DecodedToken | undefined {
  const text = given.trim()
  try {
    return { text, header: { ...decodeProtectedHeader(text) }, claims: decodeJwt(text) }
  } catch {
    return undefined
  }
}

/** So many levels of a value are shown. */
const LEVELS = 20

/** A value of a token as text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(withoutDepths(value, LEVELS), null, 1) ?? 'none')
}

/** A stranger may have nested it deeper than a stack goes. */
function withoutDepths(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return '…'
  if (Array.isArray(value)) return value.map((item) => withoutDepths(item, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutDepths(item, levels - 1)]))
}

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

/** The key set as verifiers get it. @throws {Error} if it cannot be fetched. */
export async function fetchKeySet(): Promise<readonly JWK[]> {
  const response = await fetch(JWKS, { cache: 'no-cache' })
  if (!response.ok) throw new Error(`the key set was answered with ${response.status}`)
  return ((await response.json()) as { keys: JWK[] }).keys
}

/** Verifies the signature, the issuer and the time. @param now In milliseconds. */
export async function verifyToken(
  token: DecodedToken,
  { keys, issuer, now }: { readonly keys: readonly JWK[]; readonly issuer: string; readonly now: number },
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

async function checkSignature({ text, header: { alg } }: DecodedToken, key: JWK): Promise<Check> {
  const name = 'Signature'
  if (typeof alg !== 'string' || !Object.hasOwn(KEY_ALGORITHMS, alg))
    return { name, passed: false, says: 'its algorithm is none that Keyturn signs with' }
  if (key.alg !== alg) return { name, passed: false, says: 'its algorithm is not that of the key' }
  try {
    await compactVerify(text, await importJWK(key, alg))
    return { name, passed: true, says: 'is that of the key' }
  } catch (error) {
    const isWrong = error instanceof errors.JWSSignatureVerificationFailed
    const unknown = 'cannot be verified: this browser does not know the algorithm, or the signature is not one'
    return { name, passed: false, says: isWrong ? 'is wrong: the token was altered' : unknown }
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
