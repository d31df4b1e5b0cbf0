/**
 * DPoP proofs (RFC 9449 §4.2), good ones and others, and what checks them without a database.
 */
import { generateKeyPairSync, hash, type KeyObject, type KeyPairKeyObjectResult, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, type JWK, type JWTPayload, SignJWT } from 'jose'
import { createDpop, type Dpop } from '../../src/app/access/dpop.ts'
import { createDpopProofVerifier } from '../../src/crypto/dpop-proof.ts'
import { TEST_INTEGRITY } from './integrity.ts'

/** A key pair for proofs, and its thumbprint. */
export interface ProofKey {
  readonly privateKey: KeyObject
  readonly publicJwk: JWK
  readonly alg: string
  readonly jkt: string
}

/** Makes a key pair. */
export async function newProofKey(): Promise<ProofKey> {
  return await proofKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'ES256')
}

/** Makes an RSA key pair that signs with this algorithm. */
export async function newRsaProofKey(alg: string): Promise<ProofKey> {
  return await proofKeyOf(generateKeyPairSync('rsa', { modulusLength: 2048 }), alg)
}

async function proofKeyOf({ privateKey, publicKey }: KeyPairKeyObjectResult, alg: string): Promise<ProofKey> {
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK
  return { privateKey, publicJwk, alg, jkt: await calculateJwkThumbprint(publicJwk) }
}

/** What a proof is about, and what it has instead of what it should. Undefined leaves a claim out. */
export interface ProofOptions {
  readonly url: string
  readonly method?: string
  /** The access token that goes with it. */
  readonly accessToken?: string
  readonly nonce?: string
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
}

/** A proof. */
export function proofOf(
  { privateKey, publicJwk, alg }: ProofKey,
  { url, method = 'POST', accessToken, nonce, claims = {}, header = {} }: ProofOptions,
): Promise<string> {
  const payload = {
    jti: randomUUID(),
    htm: method,
    htu: url,
    iat: Math.floor(Date.now() / 1000),
    ...(nonce === undefined ? {} : { nonce }),
    ...(accessToken === undefined ? {} : { ath: sha256(accessToken) }),
    ...claims,
  }
  return (
    new SignJWT(payload as JWTPayload)
      .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk: publicJwk, ...header })
      // So that tests can name an extension as critical.
      .sign(privateKey, { crit: { x: false } })
  )
}

type DpopUses = Parameters<typeof createDpop>[0]['uses']

/** Checks proofs, and accepts each as often as it comes. */
export function dpopFor(
  baseUrl: string,
  now: () => Date,
  uses: DpopUses = { useAssertionOnce: async () => true },
): Dpop {
  return createDpop({
    baseUrl,
    verifier: createDpopProofVerifier(),
    nonces: TEST_INTEGRITY.dpopNonces,
    uses,
    digest: sha256,
    now,
  })
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}
