/**
 * DPoP proofs (RFC 9449 §4.2), and the nonces that servers want in them.
 */
import { type Runtime, sha256 } from '@keyturn/verify/discovery'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, SignJWT } from 'jose'
import { algorithmOfCryptoKey } from './client-authentication.ts'

/** A key pair of the Web Crypto API. The private key need not be extractable. */
export interface DpopKeyPair {
  readonly publicKey: CryptoKey
  readonly privateKey: CryptoKey
}

export interface ProvedRequest {
  readonly method: string
  readonly url: string
  readonly accessToken?: string | undefined
}

export interface DpopProver {
  /** A proof for one request, which is good once. */
  proof(request: ProvedRequest): Promise<string>
  /** Keeps the nonce of a response, if it has one, for later requests to the same origin (RFC 9449 §8.2). */
  remember(url: string, headers: Headers): void
  /** Whether a challenge asks for a proof with the nonce of the same response (RFC 9449 §9). */
  asksForNonce(headers: Headers): boolean
  /** The SHA-256 thumbprint of the key, which is `cnf.jkt` of the tokens. */
  thumbprint(): Promise<string>
}

const USE_NONCE = /\bDPoP\b.*\berror="?use_dpop_nonce\b/i

/** @param keyPair Default: one that is made for this process, and cannot leave it. */
export function createDpopProver(keyPair: DpopKeyPair | undefined, runtime: Runtime): DpopProver {
  const nonces = new Map<string, string>()
  let key: ReturnType<typeof proofKey> | undefined
  const getKey = () => {
    key ??= proofKey(keyPair)
    return key
  }
  return {
    proof: async ({ method, url, accessToken }) => {
      const { alg, privateKey, jwk } = await getKey()
      const { origin, pathname } = new URL(url)
      const nonce = nonces.get(origin)
      const claims = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: origin + pathname,
        ...(nonce === undefined ? {} : { nonce }),
        ...(accessToken === undefined ? {} : { ath: await sha256(accessToken) }),
      }
      return await new SignJWT(claims)
        .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk })
        .setIssuedAt(Math.floor(runtime.now() / 1000))
        .sign(privateKey)
    },
    remember: (url, headers) => {
      const nonce = headers.get('dpop-nonce')
      if (nonce !== null && nonce !== '') nonces.set(new URL(url).origin, nonce)
    },
    asksForNonce: (headers) => headers.has('dpop-nonce') && USE_NONCE.test(headers.get('www-authenticate') ?? ''),
    thumbprint: async () => await calculateJwkThumbprint((await getKey()).jwk),
  }
}

async function proofKey(given: DpopKeyPair | undefined) {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { publicKey, privateKey } = given ?? (await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']))
  return { alg: algorithmOfCryptoKey(privateKey), privateKey, jwk: await exportJWK(publicKey) }
}
