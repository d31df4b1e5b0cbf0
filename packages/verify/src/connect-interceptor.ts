/**
 * An interceptor for Connect servers, which answer Connect, gRPC and gRPC-Web.
 *
 * It needs nothing of Connect at run time: services without Connect do not load it.
 */
import type { ContextKey, Interceptor } from '@connectrpc/connect'
import type { ClientCertificate } from './dpop-proof.ts'
import { type RefusalCode, TokenRefusal } from './token-refusal.ts'
import type { AccessToken, Verifier } from './verifier.ts'

const CODES: Readonly<Record<RefusalCode, number>> = {
  missing_token: 16,
  invalid_token: 16,
  invalid_dpop_proof: 16,
  invalid_request: 3,
  insufficient_scope: 7,
  unavailable: 14,
}

/** Where a handler finds the token: `context.values.get(accessTokenKey)`. Undefined if no interceptor has verified the call. */
export const accessTokenKey: ContextKey<AccessToken | undefined> = {
  id: Symbol('access token'),
  defaultValue: undefined,
}

/**
 * Where the interceptor finds the certificate of the client, for tokens that are bound to one (RFC 8705): interceptors do not see
 * connections. Set it in `contextValues` of the adapter.
 */
export const clientCertificateKey: ContextKey<ClientCertificate> = {
  id: Symbol('client certificate'),
  defaultValue: undefined,
}

/** For `interceptors` of a Connect router or adapter. A call without a good token is refused before its handler. */
export function connectInterceptor(verifier: Verifier): Interceptor {
  return (next) => async (request) => {
    try {
      const { header, url, requestMethod: method } = request
      const certificate = () => request.contextValues.get(clientCertificateKey)
      const proved = { proof: header.get('dpop'), method, url, certificate }
      request.contextValues.set(accessTokenKey, await verifier.authenticate(header.get('authorization'), proved))
    } catch (error) {
      throw error instanceof TokenRefusal ? refusedCall(error) : error
    }
    return await next(request)
  }
}

/** What Connect takes for a `ConnectError`: it goes by these members, because a program can have several copies of Connect. */
function refusedCall(cause: TokenRefusal): Error {
  const { message, code, headers } = cause
  const members = {
    name: 'ConnectError',
    code: CODES[code],
    rawMessage: message,
    metadata: new Headers(headers),
    details: [],
  }
  return Object.assign(new Error(message, { cause }), members)
}
