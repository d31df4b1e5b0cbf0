/**
 * Binds access tokens to the key of a DPoP proof (RFC 9449 §5), if the token request has one.
 */
import type { IncomingMessage } from 'node:http'
import { type ClientCredentials, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Dpop } from '../../app/access/dpop.ts'
import { DomainError } from '../../domain/errors.ts'
import { OAUTH_PATHS } from '../endpoints.ts'
import { toUnavailable } from '../errors.ts'

/** Whether the token of a request is going to be bound: without a good proof there will be none. */
export function hasProof({ headers }: IncomingMessage): boolean {
  return headers.dpop !== undefined
}

/**
 * Verifies the proof of a request and binds the token to its key. Call it last: it uses the proof up.
 *
 * @throws `invalid_dpop_proof`, `use_dpop_nonce`, `temporarily_unavailable`.
 */
export async function bindToken(
  ctx: KoaContextWithOIDC,
  token: Pick<ClientCredentials, 'setThumbprint'>,
  { payload, dpop }: { readonly payload: Record<string, unknown>; readonly dpop: Pick<Dpop, 'verify' | 'useOnce'> },
): Promise<void> {
  const proof = ctx.req.headers.dpop
  if (proof === undefined) return
  try {
    const verified = await dpop.verify({ proof: String(proof), method: ctx.method, path: OAUTH_PATHS.token })
    await dpop.useOnce(verified)
    const { keyThumbprint, nextNonce } = verified
    if (nextNonce !== null) ctx.set('dpop-nonce', nextNonce)
    // By this oidc-provider knows the `token_type` of the response.
    token.setThumbprint('jkt', keyThumbprint)
    payload.cnf = { jkt: keyThumbprint }
  } catch (error) {
    throw toProofError(error, ctx)
  }
}

function toProofError(error: unknown, ctx: KoaContextWithOIDC): unknown {
  if (!(error instanceof DomainError)) return error
  switch (error.code) {
    case 'dpop_proof_invalid':
      return new errors.InvalidDpopProof(inDescription(error.message))
    case 'dpop_nonce_required':
      ctx.set('dpop-nonce', error.metadata.dpop_nonce ?? '')
      return new errors.UseDpopNonce(error.message)
    default:
      return toUnavailable(error)
  }
}

/** RFC 6749 §5.2 allows no quotation marks in a description. */
function inDescription(message: string): string {
  return message.replaceAll('"', "'")
}
