/**
 * The token of a request, and whether its sender has the key or the certificate to which it is bound.
 */
import type { JWTPayload } from 'jose'
import { hasThumbprint } from './client-certificate.ts'
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
  if (kind === 'x5t#S256' && !isDpop) {
    if (await hasThumbprint(request?.certificate?.(), thumbprint)) return
    throw new TokenRefusal('invalid_token', 'the access token is bound to another client certificate', { issuer })
  }
  if (kind !== 'jkt' || checkProof === undefined)
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
