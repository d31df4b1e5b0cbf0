/**
 * A Connect interceptor that sends an access token with each call, and a proof for a token that is bound to a key.
 */
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import { TokenError, type TokenErrorCode } from './token-error.ts'
import type { TokenSource } from './token-source.ts'

const CODES: Readonly<Record<TokenErrorCode, Code>> = {
  refused: Code.Unauthenticated,
  unavailable: Code.Unavailable,
  unusable: Code.FailedPrecondition,
}

/**
 * For `interceptors` of a transport. When a unary call is refused as unauthenticated, it gets another token and calls once more. The
 * messages of a stream cannot be sent twice. The same when the server asks for a nonce in the proof. A transport with `useHttpGet` turns
 * calls into GET after its interceptors, so that the proofs of bound tokens would not fit.
 *
 * @throws {ConnectError} from calls, with the {@link TokenError} as its cause, if there is no token.
 */
export function createTokenInterceptor(tokens: TokenSource): Interceptor {
  const { dpop } = tokens
  return (next) => async (request) => {
    const { url, requestMethod: method } = request
    const callWith = async (accessToken: string) => {
      request.header.set('authorization', `${dpop === undefined ? 'Bearer' : 'DPoP'} ${accessToken}`)
      if (dpop !== undefined) request.header.set('dpop', await dpop.proof({ method, url, accessToken }))
      try {
        const response = await next(request)
        dpop?.remember(url, response.header)
        return response
      } catch (error) {
        dpop?.remember(url, ConnectError.from(error).metadata)
        throw error
      }
    }

    const token = await tokenFrom(tokens, request.signal)
    try {
      return await callWith(token)
    } catch (error) {
      const { code, metadata } = ConnectError.from(error)
      if (request.stream || code !== Code.Unauthenticated) throw error
      if (dpop?.asksForNonce(metadata)) return await callWith(token)
      tokens.invalidate(token)
      const renewed = await tokenFrom(tokens, request.signal)
      if (renewed === token) throw error
      return await callWith(renewed)
    }
  }
}

async function tokenFrom(tokens: TokenSource, signal: AbortSignal): Promise<string> {
  try {
    return await tokens.token({ signal })
  } catch (error) {
    if (!(error instanceof TokenError)) throw error
    throw new ConnectError(error.message, CODES[error.code], undefined, undefined, error)
  }
}
