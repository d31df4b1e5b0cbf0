/**
 * The token of a request, and whether its sender has the key to which it is bound.
 */
import type { JWTPayload } from 'jose'
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
  /** Undefined: no bound token is accepted. */
  readonly checkProof: ProofCheck | undefined
}

/**
 * A bound token must come with a proof, and no other token may have the scheme `DPoP` (RFC 9449 §7.1, §7.2).
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
  const thumbprint = thumbprintIn(cnf)
  if (thumbprint === undefined || checkProof === undefined)
    throw new TokenRefusal('invalid_token', 'the access token is bound to a key', { issuer })
  if (!isDpop || request === undefined) throw refuse('the access token is bound to a key')
  try {
    await checkProof(request, { accessToken: token, thumbprint })
  } catch (cause) {
    throw cause instanceof ProofProblem ? refuse(cause.message, cause) : cause
  }
}

/** Undefined for a token that is bound in another way, or in more than one. */
function thumbprintIn(cnf: unknown): string | undefined {
  const members = Object.entries(typeof cnf === 'object' && cnf !== null ? cnf : {})
  const [[name, value] = []] = members
  return members.length === 1 && name === 'jkt' && typeof value === 'string' ? value : undefined
}
