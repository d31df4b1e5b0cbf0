/** DPoP at this issuer and its API (RFC 9449): verifies proofs, hands out nonces, and accepts each proof once over all replicas. */

import { DomainError } from '../../domain/errors.ts'
import type { VerifiedAccessToken } from '../../domain/identities/authority.ts'
import type { PresentedCertificate } from '../../domain/identities/token-binding.ts'
import {
  assertProves,
  type DpopProof,
  invalidProof,
  isRecent,
  PROOF_LIFETIME_SECONDS,
} from '../../domain/identities/token-binding.ts'
import type { DpopNonces } from '../../domain/integrity.ts'
import type { CredentialUses } from '../../domain/ports/records.ts'
import type { DpopProofVerifier } from '../../domain/ports/verification.ts'
import { after } from '../../domain/time.ts'

export interface DpopOptions {
  /** What `htu` begins with, whatever the request says about the host: the base URL, without a slash at its end. */
  readonly baseUrl: string
  readonly verifier: DpopProofVerifier
  readonly nonces: DpopNonces
  readonly uses: Pick<CredentialUses, 'useAssertionOnce'>
  readonly digest: (text: string) => string
  readonly now: () => Date
}

export interface RequestWithProof {
  readonly proof: string
  readonly method: string
  readonly path: string
  /** The access token in the request, if there is one. */
  readonly accessToken?: string
}

/** A proof that has been verified, and may have been used before. */
export interface VerifiedProof extends Pick<DpopProof, 'keyThumbprint' | 'proofId'> {
  /** A nonce for the next proof, to be sent to the client; null if it has the current one. */
  readonly nextNonce: string | null
}

export interface PresentedToken extends Pick<VerifiedAccessToken, 'boundTo'> {
  readonly accessToken: string
  readonly isDpop: boolean
}

export interface TokenUse {
  /** The method and the path of the request, as the client sent them. */
  readonly method: string
  readonly path: string
  readonly proof: string | null
  readonly certificate: () => PresentedCertificate
}

export type Dpop = ReturnType<typeof createDpop>

export function createDpop({ baseUrl, verifier, nonces, uses, digest, now }: DpopOptions) {
  /**
   * Verifies a proof. It has not been used then: call `useOnce` when nothing else can refuse the request.
   *
   * A proof must have a valid nonce, or none and a recent `iat`. So a client with a wrong clock gets a nonce and works too.
   * @throws {DomainError} `dpop_proof_invalid`; `dpop_nonce_required` with a nonce for the next attempt.
   */
  const verify = async ({ proof: jwt, method, path, accessToken }: RequestWithProof): Promise<VerifiedProof> => {
    const at = now()
    const proof = await verifier.verify(jwt, at)
    const tokenHash = accessToken === undefined ? undefined : digest(accessToken)
    const uri = normalProofUri(baseUrl + path)
    assertProves({ ...proof, uri: normalProofUri(proof.uri) }, { method, uri, tokenHash })
    const nonce = nonces.current(at)
    if (proof.nonce === undefined ? !isRecent(proof, at) : !nonces.isValid(proof.nonce, at)) {
      throw new DomainError('dpop_nonce_required', 'the DPoP proof must have the nonce of this response', {
        metadata: { dpop_nonce: nonce },
      })
    }
    const { keyThumbprint, proofId } = proof
    return { keyThumbprint, proofId, nextNonce: proof.nonce === nonce ? null : nonce }
  }

  return {
    verify,

    /**
     * The proof for a token that is bound to a key (RFC 9449 §7.1), which has not been used up yet; null for any other token.
     * @throws {DomainError} `token_bound` without the scheme `DPoP` or with a proof by another key (§7.2); `token_invalid` for a token
     * of this scheme that is bound to no key; otherwise like `verify`.
     */
    async prove(
      { accessToken, boundTo, isDpop }: PresentedToken,
      { proof, method, path }: TokenUse,
    ): Promise<VerifiedProof | null> {
      if (boundTo?.kind !== 'dpop') {
        if (isDpop) throw notBound('access token')
        return null
      }
      if (!isDpop) {
        throw new DomainError(
          'token_bound',
          'the access token is bound to a key: send "Authorization: DPoP <access token>" and a proof in the header DPoP',
        )
      }
      if (proof === null) throw invalidProof('it is missing: send it in the header DPoP')
      const verified = await verify({ proof, method, path, accessToken })
      if (verified.keyThumbprint !== boundTo.thumbprint) {
        throw new DomainError('token_bound', 'the access token is bound to another key than that of the DPoP proof')
      }
      return verified
    },

    /**
     * Uses a proof up, on all replicas (RFC 9449 §11.1).
     * @throws {DomainError} `dpop_proof_invalid` if it has been used before; `storage_unavailable`.
     */
    async useOnce({ keyThumbprint, proofId }: VerifiedProof): Promise<void> {
      const id = digest(JSON.stringify(['dpop', keyThumbprint, proofId]))
      const expiresAt = after(now(), PROOF_LIFETIME_SECONDS)
      if (!(await uses.useAssertionOnce(id, expiresAt))) throw invalidProof('jti must not have been used before')
    },
  }
}

/** Without query and fragment, in the normal form of URIs (RFC 9449 §4.3 check 9, RFC 3986 §6.2.2). */
function normalProofUri(text: string): string {
  const { origin, pathname } = new URL(text)
  const normal = (encoded: string): string => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
  }
  return origin + pathname.replace(/%[\da-f]{2}/gi, normal)
}

/** The refusal of a token with the scheme `DPoP` that works for anyone who has it. */
export function notBound(what: string): DomainError {
  return new DomainError('token_invalid', `the ${what} is not bound to a key: send it as "Authorization: Bearer …"`)
}
