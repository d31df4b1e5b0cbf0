/**
 * `fetch` with an access token, and with a proof for a token that is bound to a key.
 */
import { discard } from '@keyturn/verify/discovery'
import type { TokenSource } from './token-source.ts'

export interface AuthorizedFetchOptions {
  /** Origins of the services that the token is meant for, such as `https://orders.example.com`. A request to another one is refused. */
  readonly origins: readonly string[]
  /** What sends the requests. Default: that of the platform. */
  readonly fetch?: typeof fetch | undefined
}

const INVALID_TOKEN = /\b(?:Bearer|DPoP)\b.*\berror="?invalid_token\b/i

/**
 * A `fetch` that sends `Authorization: Bearer …`, or `DPoP …` with a proof (RFC 9449 §7.1). When a response is 401 with `invalid_token` (RFC 6750 §3.1), it gets another token and
 * sends the request once more, unless `init.body` is a stream, which can be read only once. The same when a response asks for
 * a nonce in the proof.
 *
 * @throws {TypeError} from the returned function, if the address is of another origin. {@link TokenError} if there is no token.
 */
export function createAuthorizedFetch(tokens: TokenSource, options: AuthorizedFetchOptions): typeof fetch {
  const { fetch: send = globalThis.fetch } = options
  const { dpop } = tokens
  const origins = new Set(options.origins.map((origin) => new URL(origin).origin))

  return async (input, init = {}) => {
    // A copy: what is sent is what is checked here, though the caller's object may change until there is a token.
    const request = input instanceof Request ? new Request(input) : undefined
    const url = request?.url ?? String(input)
    const { origin } = new URL(url)
    if (!origins.has(origin)) throw new TypeError(`a token for ${[...origins].join(' and ')} is not sent to ${origin}`)

    const headers = new Headers(init.headers ?? request?.headers)
    const signal = init.signal ?? request?.signal
    const method = methodOf(init.method ?? request?.method ?? 'GET')
    const sendWith = async (token: string, target: string | Request): Promise<Response> => {
      headers.set('authorization', `${dpop === undefined ? 'Bearer' : 'DPoP'} ${token}`)
      if (dpop !== undefined) headers.set('dpop', await dpop.proof({ method, url, accessToken: token }))
      const response = await send(target, { ...init, headers })
      dpop?.remember(url, response.headers)
      return response
    }

    const token = await tokens.token({ signal })
    let response = await sendWith(token, request?.clone() ?? url)
    if (dpop?.asksForNonce(response.headers) && !isStream(init.body)) {
      await discard(response)
      response = await sendWith(token, request?.clone() ?? url)
    }
    if (response.status !== 401 || isStream(init.body)) return response
    if (!INVALID_TOKEN.test(response.headers.get('www-authenticate') ?? '')) return response
    tokens.invalidate(token)
    const renewed = await tokens.token({ signal })
    if (renewed === token) return response
    await discard(response)
    return await sendWith(renewed, request ?? url)
  }
}

/** As `fetch` sends it: it writes these in upper case, and no others. */
function methodOf(method: string): string {
  return /^(?:delete|get|head|options|post|put)$/i.test(method) ? method.toUpperCase() : method
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && ('getReader' in body || Symbol.asyncIterator in body)
}
