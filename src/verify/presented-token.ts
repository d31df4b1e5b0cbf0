/**
 * The token of a request, and whether its sender has the key or the certificate to which it is bound.
 */
import type { JWTPayload } from 'jose'
import { compareThumbprint } from './client-certificate.ts'
import { PROOF_ALGORITHMS, type ProofCheck, ProofProblem, type ProvedRequest } from './dpop-proof.ts'
import { TokenRefusal } from './token-refusal.ts'

const AUTHORIZATION = /^(?:Bearer|DPoP) +([A-Za-z0-9._~+/-]+=*) *$/i

/** The token of an `Authorization` header. */
export interface PresentedToken {
  readonly token: string
  readonly isDpop: boolean
}

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

/** Which proofs are accepted. */
export interface PossessionRules {
  readonly issuer: string
  /** Undefined: no token that is bound to a key is accepted. */
  readonly checkProof: ProofCheck | undefined
}

/**
 * A token that is bound to a key must come with a proof, and no other token may have the scheme `DPoP` (RFC 9449 §7.1, §7.2). One that is
 * bound to a certificate must come with it (RFC 8705 §3).
 *
 * @throws {TokenRefusal}
 */
export async function assertPossession(
  { cnf }: JWTPayload,
  { token, isDpop, request }: PresentedToken & { readonly request: ProvedRequest | undefined },
  { issuer, checkProof }: PossessionRules,
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

const BOUND_TO_CERTIFICATE = 'the access token is bound to a client certificate'
const CERTIFICATE_PROBLEMS = {
  other: `${BOUND_TO_CERTIFICATE}: the request comes with another one`,
  none: `${BOUND_TO_CERTIFICATE}: the request comes without one`,
  unreadable: `${BOUND_TO_CERTIFICATE}: that of the request cannot be read`,
}

/** @throws {TokenRefusal}, also if the certificate cannot be read: what clients send must not be an error of the service. */
async function assertCertificate(
  thumbprint: string,
  { isDpop, request, issuer }: { isDpop: boolean; request: ProvedRequest | undefined; issuer: string },
): Promise<void> {
  const refuse = (message: string, cause?: unknown) => new TokenRefusal('invalid_token', message, { issuer, cause })
  if (isDpop) throw refuse(`${BOUND_TO_CERTIFICATE}, not to a key: its scheme is Bearer`)
  const found = await compareCertificate(request, thumbprint).catch((cause: unknown) => {
    throw refuse(CERTIFICATE_PROBLEMS.unreadable, cause)
  })
  if (found !== 'same') throw refuse(CERTIFICATE_PROBLEMS[found])
}

/** Asynchronous, so that a reader of certificates that throws is a rejection. */
async function compareCertificate(request: ProvedRequest | undefined, thumbprint: string) {
  return await compareThumbprint(request?.certificate?.(), thumbprint)
}

/** Empty for a token that is bound in more than one way. */
function bindingIn(cnf: unknown): readonly [kind: string, thumbprint: string] | readonly [] {
  const members = Object.entries(typeof cnf === 'object' && cnf !== null ? cnf : {})
  const [[name, value] = []] = members
  return members.length === 1 && name !== undefined && typeof value === 'string' ? [name, value] : []
}
