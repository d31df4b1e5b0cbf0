/**
 * Requests with a JWT that is good once: a client assertion, or a DPoP proof.
 */
import { createPrivateKey, randomUUID, sign } from 'node:crypto'
import type { HttpJob, Signing } from './job.ts'

const LIFETIME_SECONDS = 600

/** What sends the requests of a job, taken by chance. */
export function requestsOf({ requests, signing }: Pick<HttpJob, 'requests' | 'signing'>): () => string {
  const next = () => requests[Math.floor(Math.random() * requests.length)] ?? ''
  if (signing === undefined) return next
  const newJwt = signer(signing)
  const placeholder = placeholderFor(newJwt())
  return () => next().replace(placeholder, newJwt)
}

/** Stands for the JWT in a request, and is as long as it, so that the length of the request is right. */
export function placeholderOf(signing: Signing): string {
  return placeholderFor(signedOnce(signing))
}

function placeholderFor(jwt: string): string {
  return '#'.repeat(jwt.length)
}

/** One JWT. */
export function signedOnce(signing: Signing): string {
  return signer(signing)()
}

/** All JWTs have the same length. */
function signer({ header, claims, privateJwk }: Signing): () => string {
  const key = createPrivateKey({ key: privateJwk, format: 'jwk' })
  const head = encode({ alg: 'ES256', ...header })
  return () => {
    const iat = Math.floor(Date.now() / 1000)
    const input = `${head}.${encode({ ...claims, jti: randomUUID(), iat, exp: iat + LIFETIME_SECONDS })}`
    const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
    return `${input}.${signature.toString('base64url')}`
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
