/**
 * Binds access tokens to the key of a DPoP proof (RFC 9449 §5), or to the certificate of the client (RFC 8705 §3).
 */
import type { IncomingMessage } from 'node:http'
import { type ClientCredentials, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Dpop } from '../../app/access/dpop.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PresentedCertificate, TokenBinding } from '../../domain/identities/token-binding.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { OAUTH_PATHS } from '../endpoints.ts'
import { toUnavailable } from '../errors.ts'

/**
 * To what the token of a request is going to be bound: without a good proof or a readable certificate there will be none.
 *
 * A proof goes first, because the client has made it for this request; certificates are there for other reasons as well.
 */
export function bindingMethodOf(
  req: IncomingMessage,
  user: Pick<ServiceUser, 'certificateBoundTokens'>,
  contexts: Pick<RequestContext, 'certificateOf'>,
): TokenBinding['kind'] | null {
  if (req.headers.dpop !== undefined) return 'dpop'
  return usesCertificate(req, user, contexts) ? 'certificate' : null
}

/** Whether the request comes with a certificate, or something in its place, to which tokens of the user are bound. */
export function usesCertificate(
  req: IncomingMessage,
  { certificateBoundTokens }: Pick<ServiceUser, 'certificateBoundTokens'>,
  contexts: Pick<RequestContext, 'certificateOf'>,
): boolean {
  return certificateBoundTokens && contexts.certificateOf(req).kind !== 'none'
}

/**
 * The member of `cnf` for a certificate.
 *
 * @throws `invalid_request` if it cannot be read.
 */
export function certificateConfirmation(certificate: PresentedCertificate): { readonly 'x5t#S256': string } {
  if (certificate.kind === 'presented') return { 'x5t#S256': certificate.thumbprint }
  const reason = certificate.kind === 'unreadable' ? certificate.reason : 'the connection has none any more'
  throw new errors.InvalidRequest(`the client certificate cannot be read: ${reason}`)
}

/**
 * Verifies the proof of a request and binds the token to its key. Call it last: it uses the proof up.
 *
 * @throws `invalid_dpop_proof`, `use_dpop_nonce`, `temporarily_unavailable`.
 */
export async function bindToKey(
  ctx: KoaContextWithOIDC,
  token: Pick<ClientCredentials, 'setThumbprint'>,
  { payload, dpop }: { readonly payload: Record<string, unknown>; readonly dpop: Pick<Dpop, 'verify' | 'useOnce'> },
): Promise<void> {
  try {
    const proof = String(ctx.req.headers.dpop)
    const verified = await dpop.verify({ proof, method: ctx.method, path: OAUTH_PATHS.token })
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
