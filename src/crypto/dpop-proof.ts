/**
 * Verifies the signature and the form of DPoP proofs (RFC 9449 §4.3). What a proof is about is compared elsewhere
 * (`domain/identities/token-binding.ts`).
 *
 * Not that of oidc-provider, which goes by the clock of the machine and is not there for the API (decision 29).
 */
import { type CompactJWSHeaderParameters, errors, type JWTPayload, jwtVerify } from 'jose'
import { isCompactJws } from '../domain/compact-jws.ts'
import { DomainError } from '../domain/errors.ts'
import { DPOP_ALGORITHMS, type DpopProof, invalidProof } from '../domain/identities/token-binding.ts'
import type { PublicJwk } from '../domain/keys/key-algorithm.ts'
import type { DpopProofVerifier } from '../domain/ports/verification.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../domain/time.ts'
import { thumbprint } from './public-key-macs.ts'
import { parsePublicJwk } from './user-key.ts'

/** Bounds the work that a proof causes. An RSA key of 4096 bits takes about 1400 characters, and its signature 700. */
const MAX_PROOF_LENGTH = 4096

const MAX_ID_LENGTH = 200

export function createDpopProofVerifier(): DpopProofVerifier {
  return {
    async verify(proof, now) {
      if (proof.length > MAX_PROOF_LENGTH) throw invalidProof(`it is longer than ${MAX_PROOF_LENGTH} characters`)
      // Several headers are joined with commas, so they end here as well (check 1).
      if (!isCompactJws(proof)) throw invalidProof('it must be one JWT, in base64url without padding')
      let publicJwk: PublicJwk | undefined
      const keyOf = ({ jwk }: CompactJWSHeaderParameters) => {
        publicJwk = keyIn(jwk)
        return publicJwk
      }
      try {
        const { payload } = await jwtVerify(proof, keyOf, {
          algorithms: [...DPOP_ALGORITHMS],
          typ: 'dpop+jwt',
          currentDate: now,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
        })
        if (publicJwk === undefined) throw new Error('a signature was verified without a key')
        return toProof(payload, thumbprint(publicJwk))
      } catch (cause) {
        if (cause instanceof errors.JOSEError) throw invalidProof(hintFor(cause), cause)
        throw cause
      }
    },
  }
}

/** The public key in the header. @throws {DomainError} `dpop_proof_invalid`, also for a private key (check 7). */
function keyIn(jwk: unknown): PublicJwk {
  try {
    const { kid: _kid, alg: _alg, ...key } = parsePublicJwk(jwk, 'jwk')
    return key
  } catch (cause) {
    if (cause instanceof DomainError) throw invalidProof(cause.message, cause)
    throw cause
  }
}

function toProof({ jti, htm, htu, iat, nonce, ath }: JWTPayload, keyThumbprint: string): DpopProof {
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_ID_LENGTH) {
    throw invalidProof(`jti must be a text of 1 to ${MAX_ID_LENGTH} characters`)
  }
  if (typeof htm !== 'string') throw invalidProof('htm must be the method of the request')
  if (typeof htu !== 'string' || !URL.canParse(htu)) throw invalidProof('htu must be the URL of the request')
  if (typeof iat !== 'number' || Number.isNaN(new Date(iat * 1000).getTime())) throw invalidProof('iat must be a time')
  if (nonce !== undefined && typeof nonce !== 'string') throw invalidProof('nonce must be a text')
  if (ath !== undefined && typeof ath !== 'string') throw invalidProof('ath must be a text')
  const issuedAt = new Date(iat * 1000)
  return { keyThumbprint, proofId: jti, method: htm, uri: htu, issuedAt, nonce, tokenHash: ath }
}

function hintFor(cause: errors.JOSEError): string {
  if (cause instanceof errors.JOSEAlgNotAllowed) return `alg must be one of ${DPOP_ALGORITHMS.join(', ')}`
  if (cause instanceof errors.JWTClaimValidationFailed) {
    return cause.claim === 'typ' ? 'typ must be dpop+jwt' : `${cause.claim} is not as it must be`
  }
  if (cause instanceof errors.JWTExpired) return 'it has expired'
  return 'its signature or its form is wrong'
}
