/**
 * Makes what verifies DPoP proofs, for the token endpoint and for the API.
 */
import { Dpop } from '../app/access/dpop.ts'
import { createDpopProofVerifier } from '../crypto/dpop-proof.ts'
import { createCredentialUses } from '../storage/identities/credential-uses.ts'
import { digest } from './digest.ts'
import { recording } from './recording.ts'
import type { ServicesOptions } from './services.ts'

/** What verifies DPoP proofs. Each proof is accepted once, whichever of them it comes to. */
export function createDpop(options: ServicesOptions): Dpop {
  const { dpopNonces, now, baseUrl, tracing } = options
  return new Dpop({
    baseUrl,
    verifier: createDpopProofVerifier(),
    nonces: dpopNonces,
    uses: tracing.calls('CredentialUses', recording(options, createCredentialUses)),
    digest,
    now,
  })
}
