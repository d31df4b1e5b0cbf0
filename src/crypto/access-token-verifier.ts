/**
 * Verifies the access tokens (RFC 9068) that callers of the API present, and those that others ask about. What their subject may do is
 * decided elsewhere.
 */
import { type CompactJWSHeaderParameters, errors, type JWTPayload, jwtVerify } from 'jose'
import { isCompactJws } from '../domain/compact-jws.ts'
import { DomainError } from '../domain/errors.ts'
import type { IssuedAccessToken } from '../domain/identities/authority.ts'
import type { TokenBinding } from '../domain/identities/token-binding.ts'
import { SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import { KEY_ALGORITHMS, type PublicJwk } from '../domain/keys/key-algorithm.ts'
import type { KeyRing } from '../domain/keys/key-ring.ts'
import type { IssuedTokenVerifier } from '../domain/ports/verification.ts'

/** Bounds the work that an unauthenticated token causes, before it is parsed. Just below the size limit of a header. */
const MAX_TOKEN_LENGTH = 15 * 1024

/** The form of a web key's id: a SHA-256 thumbprint (RFC 7638). */
const KEY_ID = /^[\w-]{43}$/

const NOT_VALID = 'the access token is not valid'

export interface AccessTokenVerifierOptions {
  readonly issuer: string
  /** Without one every audience is good. */
  readonly audience?: string
  readonly now: () => Date
}

/** A verifier of tokens by this issuer. Verification has no clock tolerance. */
export function createAccessTokenVerifier(options: AccessTokenVerifierOptions): IssuedTokenVerifier {
  return { verify: (token, ring) => verify(token, ring, options) }
}

async function verify(
  token: string,
  ring: KeyRing,
  { issuer, audience, now }: AccessTokenVerifierOptions,
): Promise<IssuedAccessToken> {
  try {
    if (token.length > MAX_TOKEN_LENGTH) throw new Error(`the token is longer than ${MAX_TOKEN_LENGTH} characters`)
    if (!isCompactJws(token)) throw new Error('the token is not three parts in base64url without padding')
    const { payload, protectedHeader } = await jwtVerify(token, (header) => publicKeyFor(header, ring), {
      algorithms: Object.keys(KEY_ALGORITHMS),
      typ: 'at+jwt',
      issuer,
      ...(audience === undefined ? {} : { audience }),
      currentDate: now(),
      requiredClaims: ['exp', 'iat', 'sub', 'aud', 'jti'],
    })
    return toIssuedToken(payload, protectedHeader.kid)
  } catch (cause) {
    if (cause instanceof DomainError) throw cause
    throw new DomainError('token_invalid', hintFor(cause), { cause })
  }
}

function toIssuedToken(claims: JWTPayload, keyId: string | undefined): IssuedAccessToken {
  const { sub: subject, jti: tokenId, exp, aud = [] } = claims
  if (typeof subject !== 'string' || typeof tokenId !== 'string') throw new Error('"sub" or "jti" is not a string')
  if (keyId === undefined || exp === undefined) throw new Error('the token has been accepted without "kid" or "exp"')
  const credential = { kind: 'access_token', keyId, tokenId, expiresAt: new Date(exp * 1000) } as const
  return { subject, credential, audience: [aud].flat(), boundTo: bindingIn(claims), claims }
}

/**
 * The public key that the header names. Its algorithm is that of the web key; the header may only agree, so a public
 * key can never be used as the secret of another algorithm.
 *
 * The JWK itself is returned because jose keeps what it imports for as long as this very object lives, and no longer.
 */
function publicKeyFor({ kid, alg }: CompactJWSHeaderParameters, ring: KeyRing): PublicJwk {
  const key = ring.find(({ keyId }) => keyId === kid)
  if (key === undefined && KEY_ID.test(String(kid))) throw new DomainError('token_key_unknown', NOT_VALID)
  if (key === undefined) throw new Error('no web key can have the "kid" of the token')
  if (key.algorithm !== alg) throw new Error(`the token says ${alg}, its web key is for ${key.algorithm}`)
  return key.publicJwk
}

const BINDINGS: Readonly<Record<string, TokenBinding['kind']>> = { jkt: 'dpop', 'x5t#S256': 'certificate' }

/** `cnf`. A token that is bound in another way, or in two, is refused: it must not become a bearer token (RFC 7800 §3.1). */
function bindingIn({ cnf }: JWTPayload): TokenBinding | null {
  if (cnf === undefined) return null
  const members = Object.entries(typeof cnf === 'object' && cnf !== null ? cnf : {})
  const [[name = '', thumbprint] = []] = members
  const kind = Object.hasOwn(BINDINGS, name) ? BINDINGS[name] : undefined
  if (members.length === 1 && kind !== undefined && typeof thumbprint === 'string') return { kind, thumbprint }
  throw new Error('the "cnf" claim names nothing that can be proved here')
}

// Claims are checked after the signature, so only the holder of a genuine token gets more detail than "not valid".
function hintFor(cause: unknown): string {
  if (cause instanceof errors.JWTExpired) return 'the access token has expired: get a new one'
  if (cause instanceof errors.JWTClaimValidationFailed && cause.claim === 'aud') {
    return `the access token is not meant for this service: get one with the scope ${SERVICE_AUDIENCE_SCOPE}`
  }
  return NOT_VALID
}
