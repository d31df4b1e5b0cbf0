/**
 * A Connect interceptor that sends an access token with each call.
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
 * messages of a stream cannot be sent twice.
 *
 * @throws {ConnectError} from calls, with the {@link TokenError} as its cause, if there is no token.
 */
export function createTokenInterceptor(tokens: TokenSource): Interceptor {
  return (next) => async (request) => {
    const token = await tokenFrom(tokens, request.signal)
    request.header.set('authorization', `Bearer ${token}`)
    try {
      return await next(request)
    } catch (error) {
      if (request.stream || ConnectError.from(error).code !== Code.Unauthenticated) throw error
      tokens.invalidate(token)
      const renewed = await tokenFrom(tokens, request.signal)
      if (renewed === token) throw error
      request.header.set('authorization', `Bearer ${renewed}`)
      return await next(request)
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
