/**
 * Checks the Host header and the authority of a request (RFC 9112 §3.2, RFC 9113 §8.3.1).
 *
 * No handler depends on the host. An ambiguous request is refused because a proxy in front may have understood it differently.
 */
import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'

/** `uri-host [ ":" port ]` (RFC 9110 §7.2), where the host is an IP literal or a registered name, which may be empty. */
const HOST = /^(?:\[(?<literal>[^\]]*)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::(?<port>\d*))?$/i

/** `IPvFuture` (RFC 3986 §3.2.2). */
const FUTURE_LITERAL = /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i

const HOST_NAME = 'host'
const MAX_PORT = 65_535

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' }

/** Scheme and authority of a request target in absolute form. */
export interface Origin {
  /** Lower case. */
  readonly scheme: string
  readonly authority: string
}

/**
 * What is wrong with the host of a request, as a text for its client; undefined if it is valid.
 *
 * @param origin Of a target in absolute form. Its authority is checked like `:authority` of HTTP/2.
 */
export function hostProblem({ httpVersion, rawHeaders }: IncomingMessage, origin?: Origin): string | undefined {
  let host: string | undefined
  let authority = origin?.authority
  let scheme = origin?.scheme ?? ''
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === HOST_NAME.length && name.toLowerCase() === HOST_NAME) {
      if (host !== undefined) return 'there is more than one Host header'
      host = rawHeaders[i + 1] as string
    } else if (name === ':authority') {
      authority = rawHeaders[i + 1] as string
    } else if (name === ':scheme') {
      scheme = rawHeaders[i + 1] as string
    }
  }
  if (host === undefined && httpVersion === '1.1') return 'the Host header is missing'
  if (host !== undefined && !isHost(host)) return 'the Host header is not valid'
  if (authority === undefined) return undefined
  if (!isHost(authority)) return 'the authority is not valid'
  const differs = host !== undefined && normalized(host, scheme) !== normalized(authority, scheme)
  return differs ? 'the Host header differs from the authority' : undefined
}

function isHost(value: string): boolean {
  const groups = HOST.exec(value)?.groups
  if (groups === undefined) return false
  const { literal, port } = groups
  if (literal !== undefined && !isLiteral(literal)) return false
  return port === undefined || Number(port) <= MAX_PORT
}

/** Whether a text is valid in brackets. An IPv6 zone, which Node accepts, is not (RFC 3986 §3.2.2). */
function isLiteral(text: string): boolean {
  return FUTURE_LITERAL.test(text) || (isIPv6(text) && !text.includes('%'))
}

/** In lower case and without the default port of the scheme (RFC 9110 §4.2.3). */
function normalized(host: string, scheme: string): string {
  const lower = host.toLowerCase().replace(/:$/, '')
  const defaultPort = DEFAULT_PORTS[scheme] ?? ''
  return defaultPort !== '' && lower.endsWith(defaultPort) ? lower.slice(0, -defaultPort.length) : lower
}
