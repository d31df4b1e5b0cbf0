/**
 * Sends https requests to servers that are not trusted beyond their certificate: no redirects, no proxies, a bounded number of bytes, and only
 * to addresses that the policy allows.
 *
 * Addresses are checked when they are connected to, not before: the socket gets those that were checked, so that a name cannot resolve to
 * another one in between (DNS rebinding). A name is refused if one of its addresses is.
 */
import { lookup as lookupHost } from 'node:dns'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'

export interface HttpsRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Certificates (PEM) that are trusted instead of those of Node.js. */
  readonly caCertificates: string | null
  readonly signal: AbortSignal
}

/**
 * Sends a request, and returns the response when its headers are there, whatever its status. The caller destroys it.
 *
 * @throws {FetchFailure} The reason of the signal, if that aborted it.
 */
export type SendHttps = (url: string, request: HttpsRequest) => Promise<IncomingMessage>

/** There is no usable response. The message is for the operator, and has nothing of the body of the response. */
export class FetchFailure extends Error {}

export interface HttpsRequestOptions {
  readonly allows: AddressPolicy
  /** The setting that lists further addresses. */
  readonly setting: string
  /** How to name authorities for a server whose certificate is by one that is not known. */
  readonly authorityHint: string
  /** Resolves names. Default: as the system does. */
  readonly lookup?: typeof lookupHost
}

/** What is received on a connection, in bytes: interim responses, headers and the framing of a body too, of which Node.js takes any number. */
const MAX_RECEIVED = 1024 * 1024

/** Codes of Node.js and OpenSSL for certificates that are refused. */
const CERTIFICATE =
  /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET_ISSUER|VERIFY)|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE))/
/** Those of them that other authorities would mend. */
const UNKNOWN_AUTHORITY = /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET_ISSUER|VERIFY))/
const UNRESOLVED = ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA']

export function createSendHttps(options: HttpsRequestOptions): SendHttps {
  const { allows, setting, authorityHint, lookup = lookupHost } = options
  const refused = (address: string) =>
    new FetchFailure(
      `is at the address ${address}, which is not allowed: if it is meant, list it in ${setting} and restart the server`,
    )

  const allowedAddresses: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      // Also one of several: which of them is connected to is decided later, and may change.
      const forbidden = addresses?.find(({ address }) => !allows(address))
      if (first === undefined) callback(error ?? new FetchFailure('has a name without addresses'), [])
      else if (forbidden !== undefined) callback(refused(forbidden.address), [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }

  return async (text, { method, headers, body, caCertificates, signal }) => {
    if (!isHttpsUrl(text)) throw new FetchFailure('is no https URL, or has a user in it')
    const url = new URL(text)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    try {
      // A name is resolved, and its addresses are checked, when it is connected to. An address is connected to as it is.
      if (isIP(host) !== 0 && !allows(host)) throw refused(host)
      const sending = request(url, {
        method,
        signal,
        lookup: allowedAddresses,
        // With an agent of its own no variable of the environment names a proxy, and nothing is kept.
        agent: new Agent({ keepAlive: false, maxCachedSessions: 0 }),
        headers: { ...headers, 'user-agent': 'keyturn' },
        minVersion: 'TLSv1.2',
        rejectUnauthorized: true,
        ...(caCertificates === null ? {} : { ca: caCertificates }),
      })
      return await responseTo(sending.end(body))
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw new FetchFailure(describeFailure(error, authorityHint), { cause: error })
    }
  }
}

/** What went wrong, as the end of a sentence about the server. */
export function describeFailure(error: unknown, authorityHint = ''): string {
  if (error instanceof FetchFailure) return error.message
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no code'
  if (CERTIFICATE.test(code)) {
    const hint = UNKNOWN_AUTHORITY.test(code) ? `: if its authority is meant, name it (${authorityHint})` : ''
    return `has a certificate that is not trusted (${code})${hint}`
  }
  return UNRESOLVED.includes(code) ? `has a name that cannot be resolved (${code})` : `cannot be reached (${code})`
}

/** Whether a URL can be sent to at all: https, without a user in it. */
export function isHttpsUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'https:' && url.username === '' && url.password === ''
}

function responseTo(sending: ClientRequest): Promise<IncomingMessage> {
  return new Promise<IncomingMessage>((resolve, reject) => {
    sending
      .on('response', resolve)
      .on('socket', limitReceived)
      .on('error', reject)
      // Otherwise Node.js destroys the request without a word.
      .on('upgrade', (_response, socket) => {
        socket.destroy()
        reject(new FetchFailure('answers with status 101'))
      })
      .on('close', () => reject(new FetchFailure('closes the connection without an answer')))
  })
}

/** The text of a body. @throws {FetchFailure} if it has more bytes. */
export async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new FetchFailure(`answers with more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function limitReceived(socket: Socket): void {
  let received = 0
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received > MAX_RECEIVED) socket.destroy(new FetchFailure(`answers with more than ${MAX_RECEIVED} bytes`))
  })
}
