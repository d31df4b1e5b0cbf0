/**
 * How a client proves who it is to the token endpoint: with its secret in the body (RFC 6749 §2.3.1; Spec §4.1), with an assertion
 * that its private key signs (`private_key_jwt`, RFC 7523 §2.2), with the JWT that its platform keeps in a file for it, or with the client
 * certificate of its connections (RFC 8705 §2).
 */
import { type CryptoKey, decodeJwt, importJWK, type JWK, SignJWT } from 'jose'
import { TokenError } from './token-error.ts'

/** A value, or a function that is called for each token request, so that a rotated credential needs no restart. */
export type Credential<T> = T | (() => T | Promise<T>)

interface Credentials {
  readonly clientSecret: Credential<string>
  /**
   * A JWK, or a key of the Web Crypto API, which need not be extractable. A JWK with `kid` names itself in the assertion; with
   * `alg` it signs with that algorithm, and otherwise with the usual one of its kind.
   */
  readonly privateKey: Credential<JWK | CryptoKey>
  /**
   * The path of a file with a JWT of a trusted issuer, such as a projected token of Kubernetes or a JWT-SVID. It is read for each token
   * request, so that a JWT that was renewed is used from then on. Node.js, Deno and Bun only.
   */
  readonly tokenFile: string
  /** The certificate that `fetch` presents. */
  readonly clientCertificate: true
}

export type ClientAuthentication = {
  [Name in keyof Credentials]: Pick<Credentials, Name> & {
    readonly [Other in Exclude<keyof Credentials, Name>]?: undefined
  }
}[keyof Credentials]

type Parties = { readonly clientId: string; readonly issuer: string }

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** Of JWT-SVIDs (draft-ietf-oauth-spiffe-client-auth). */
const SVID_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe'
/** Long enough for clocks that differ by half a minute. */
const ASSERTION_LIFETIME_SECONDS = 60
const EC_ALGORITHMS: Readonly<Record<string, string>> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' }

/**
 * Parameters of a token request that authenticate the client. An assertion of its own works once: call it for each request.
 *
 * @throws {TokenError} `unusable` if the credential cannot be read or the key cannot sign.
 */
export async function authenticationParameters(
  authentication: ClientAuthentication,
  parties: Parties,
): Promise<Readonly<Record<string, string>>> {
  try {
    if (authentication.clientSecret !== undefined) return { client_secret: await read(authentication.clientSecret) }
    if (authentication.clientCertificate !== undefined) return {}
    if (authentication.tokenFile !== undefined) return federated(await readFile(authentication.tokenFile))
    const client_assertion = await assertion(await read(authentication.privateKey), parties)
    return { client_assertion_type: ASSERTION_TYPE, client_assertion }
  } catch (cause) {
    // The message of the cause could quote the credential.
    throw new TokenError('the client secret, the private key or the token file cannot be used: see the cause', {
      code: 'unusable',
      cause,
    })
  }
}

function federated(client_assertion: string): Readonly<Record<string, string>> {
  const isSvid = decodeJwt(client_assertion).sub?.startsWith('spiffe://') === true
  return { client_assertion_type: isSvid ? SVID_TYPE : ASSERTION_TYPE, client_assertion }
}

interface Files {
  readFile(path: string, encoding: 'utf8'): Promise<string>
}

/** Not by an import, which a bundler for browsers could not resolve. */
async function readFile(path: string): Promise<string> {
  const { process } = globalThis as { readonly process?: { getBuiltinModule?(name: string): Files | undefined } }
  const files = process?.getBuiltinModule?.('node:fs/promises')
  if (files === undefined) throw new Error('this platform has no files')
  return (await files.readFile(path, 'utf8')).trim()
}

async function assertion(privateKey: JWK | CryptoKey, { clientId, issuer }: Parties): Promise<string> {
  const { alg, key, kid } = await signingKey(privateKey)
  return await new SignJWT({ jti: crypto.randomUUID() })
    .setProtectedHeader({ alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(issuer)
    .setIssuedAt()
    .setExpirationTime(`${ASSERTION_LIFETIME_SECONDS} seconds`)
    .sign(key)
}

async function signingKey(privateKey: JWK | CryptoKey) {
  if (!isJwk(privateKey)) return { key: privateKey, alg: algorithmOfCryptoKey(privateKey), kid: undefined }
  const { kty, crv = '' } = privateKey
  const alg = privateKey.alg ?? (kty === 'RSA' ? 'RS256' : (EC_ALGORITHMS[crv] ?? 'EdDSA'))
  return { key: await importJWK(privateKey, alg), alg, kid: privateKey.kid }
}

function isJwk(key: JWK | CryptoKey): key is JWK {
  return 'kty' in key
}

/** The usual JWS algorithm of a key. */
export function algorithmOfCryptoKey({ algorithm }: CryptoKey): string {
  const { name, hash, namedCurve = '' } = algorithm as { name: string; hash?: { name: string }; namedCurve?: string }
  const bits = hash?.name.slice('SHA-'.length)
  if (name === 'RSASSA-PKCS1-v1_5') return `RS${bits}`
  if (name === 'RSA-PSS') return `PS${bits}`
  return EC_ALGORITHMS[namedCurve] ?? 'EdDSA'
}

async function read<T>(credential: Credential<T>): Promise<T> {
  return typeof credential === 'function' ? await (credential as () => T | Promise<T>)() : credential
}
