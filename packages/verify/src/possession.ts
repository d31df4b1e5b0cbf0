/**
 * Whether the sender of a request has the key or the client certificate to which its token is bound (RFC 9449 §7, RFC 8705 §3).
 *
 * The possession of a certificate's private key is proved in the TLS handshake, and the certificate need not be one that anything trusts.
 */
import type { JWTPayload } from 'jose'
import { sha256 } from './discovery.ts'
import {
  type ClientCertificate,
  PROOF_ALGORITHMS,
  type ProofCheck,
  ProofProblem,
  type ProvedRequest,
} from './dpop-proof.ts'
import { TokenRefusal } from './token-refusal.ts'

export interface PresentedToken {
  readonly token: string
  readonly isDpop: boolean
}

interface TlsSocket {
  getPeerX509Certificate?(): { readonly raw: Uint8Array } | undefined
}

/** What has a socket: requests of Express, `node:http` and Fastify; contexts of Hono with its server for Node.js. */
interface WithSocket {
  readonly socket?: TlsSocket | undefined
  readonly env?: { readonly incoming?: { readonly socket?: TlsSocket | undefined } | undefined } | undefined
}

const AUTHORIZATION = /^(?:Bearer|DPoP) +([A-Za-z0-9._~+/-]+=*) *$/i
const PEM = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/

/** @throws {TokenRefusal} `missing_token`, `invalid_request`. Another scheme is no attempt to authenticate with a token. */
export function presentedToken(authorization: string | null | undefined, issuer: string): PresentedToken {
  const attempted = /^(Bearer|DPoP)\b/i.exec(authorization ?? '')?.[1]?.toLowerCase()
  if (attempted === undefined) throw new TokenRefusal('missing_token', 'an access token is required', { issuer })
  const isDpop = attempted === 'dpop'
  const token = AUTHORIZATION.exec(authorization ?? '')?.[1]
  if (token === undefined) {
    const message = `the Authorization header must be ${isDpop ? 'DPoP' : 'Bearer'} and one token`
    throw new TokenRefusal('invalid_request', message, { issuer })
  }
  return { token, isDpop }
}

/** The certificate of the TLS connection of a request, if the server has asked for one. */
export function connectionCertificate(request: object): ClientCertificate {
  const { socket, env } = request as WithSocket
  return (socket ?? env?.incoming?.socket)?.getPeerX509Certificate?.()?.raw
}

/**
 * A token that is bound to a key must come with a proof, and no other token may have the scheme `DPoP` (RFC 9449 §7.1, §7.2). One that is
 * bound to a certificate must come with it (RFC 8705 §3).
 *
 * @param checkProof Undefined: no token that is bound to a key is accepted.
 * @throws {TokenRefusal}
 */
export async function assertPossession(
  { cnf }: JWTPayload,
  { token, isDpop, request }: PresentedToken & { readonly request: ProvedRequest | undefined },
  { issuer, checkProof }: { readonly issuer: string; readonly checkProof: ProofCheck | undefined },
): Promise<void> {
  const refuse = (message: string, cause?: ProofProblem) =>
    new TokenRefusal(cause?.code ?? 'invalid_token', message, { issuer, algs: PROOF_ALGORITHMS, cause })
  if (cnf === undefined) {
    if (isDpop) throw refuse('the access token is not bound to a key')
    return
  }
  const [kind, thumbprint = ''] = bindingIn(cnf)
  if (kind === 'x5t#S256') return await assertCertificate(thumbprint, { isDpop, request, issuer })
  if (kind !== 'jkt')
    throw new TokenRefusal('invalid_token', 'the access token is bound in a way that is not known here', { issuer })
  if (checkProof === undefined)
    throw new TokenRefusal('invalid_token', 'the access token is bound to a key', { issuer })
  if (!isDpop || request === undefined) throw refuse('the access token is bound to a key')
  try {
    await checkProof(request, { accessToken: token, thumbprint })
  } catch (cause) {
    throw cause instanceof ProofProblem ? refuse(cause.message, cause) : cause
  }
}

/** Empty for a token that is bound in more than one way. */
function bindingIn(cnf: unknown): readonly [kind: string, thumbprint: string] | readonly [] {
  const members = Object.entries(typeof cnf === 'object' && cnf !== null ? cnf : {})
  const [[name, value] = []] = members
  return members.length === 1 && name !== undefined && typeof value === 'string' ? [name, value] : []
}

/** @throws {TokenRefusal}, also if the certificate cannot be read: what clients send must not be an error of the service. */
async function assertCertificate(
  thumbprint: string,
  { isDpop, request, issuer }: { isDpop: boolean; request: ProvedRequest | undefined; issuer: string },
): Promise<void> {
  const refuse = (message: string, cause?: unknown) =>
    new TokenRefusal('invalid_token', `the access token is bound to a client certificate${message}`, { issuer, cause })
  if (isDpop) throw refuse(', not to a key: its scheme is Bearer')
  let presented: string | undefined
  try {
    presented = await thumbprintOf(request?.certificate?.())
  } catch (cause) {
    throw refuse(': that of the request cannot be read', cause)
  }
  if (presented === undefined) throw refuse(': the request comes without one')
  if (presented !== thumbprint) throw refuse(': the request comes with another one')
}

/** SHA-256 in base64url (`x5t#S256`); undefined if there is no certificate. @throws {Error} for a text that is none in PEM. */
async function thumbprintOf(certificate: ClientCertificate): Promise<string | undefined> {
  if (certificate === null || certificate === undefined || certificate.length === 0) return undefined
  const der = typeof certificate === 'string' ? derOf(certificate) : Uint8Array.from(certificate)
  return await sha256(der)
}

function derOf(pem: string): Uint8Array<ArrayBuffer> {
  const content = PEM.exec(pem)?.[1]?.replace(/\s/g, '')
  if (content === undefined) throw new Error('the certificate is not in PEM')
  return Uint8Array.from(atob(content), (character) => character.charCodeAt(0))
}
