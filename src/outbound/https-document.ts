/**
 * Gets documents by https from servers that are not trusted beyond their certificate: no redirects, no proxies, bounded in time and size,
 * and only from addresses that the policy allows.
 *
 * Each address is checked when it is connected to, not before: the addresses that the name resolved to are filtered, and what is left of
 * them is what the socket gets, so that a name cannot resolve to another address in between (DNS rebinding).
 */
import { lookup as lookupHost } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'

/** JSON, and key sets in their own media type (RFC 7517 §8.5.2), without which kube-apiserver refuses to answer. */
const ACCEPTED = 'application/json, application/jwk-set+json'

/** A document, and for how long its server says that it may be reused. */
export interface HttpsDocument {
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

/** How to get one. */
export interface GetOptions {
  /** Certificates (PEM) that are trusted instead of those of Node.js. */
  readonly caCertificates: string | null
  readonly signal: AbortSignal
}

/** Gets a document. @throws {FetchFailure} The reason of the signal, if that aborted it. */
export type GetDocument = (url: string, options: GetOptions) => Promise<HttpsDocument>

/** There is no document to be had. The message is for the operator, and has nothing of the body of the response. */
export class FetchFailure extends Error {}

/** What getting documents needs. */
export interface HttpsDocumentOptions {
  readonly allows: AddressPolicy
  /** The setting that lists further addresses. */
  readonly setting: string
  /** Resolves names. Default: as the system does. */
  readonly lookup?: typeof lookupHost
}

/** A hundred times the JWKS of most issuers. */
const MAX_BYTES = 256 * 1024

/** Of a URL in a message: issuers name URLs too. */
const MAX_PLACE_LENGTH = 200

/** Codes of Node.js and OpenSSL for certificates that are refused. */
const CERTIFICATE =
  /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET_ISSUER|VERIFY)|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE))/
/** Those of them that other authorities would mend. */
const UNKNOWN_AUTHORITY = /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET_ISSUER|VERIFY))/
const UNRESOLVED = ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA']

/** Makes the function. */
export function createGetDocument({ allows, setting, lookup = lookupHost }: HttpsDocumentOptions): GetDocument {
  const refused = (address: string) =>
    new FetchFailure(
      `is at the address ${address}, which is not allowed: if it is meant, list it in ${setting} and restart the server`,
    )

  const allowedAddresses: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = (addresses ?? []).filter(({ address }) => allows(address))
      const [first] = allowed
      if (error !== null) callback(error, [])
      else if (first === undefined) callback(refused(addresses[0]?.address ?? ''), [])
      else if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }

  return async (text, { caCertificates, signal }) => {
    const url = parse(text)
    const host = url.hostname.replace(/^\[|\]$/g, '')
    try {
      // A name is resolved, and its addresses are checked, when it is connected to. An address is connected to as it is.
      if (isIP(host) !== 0 && !allows(host)) throw refused(host)
      return await get(url, {
        signal,
        lookup: allowedAddresses,
        // With an agent of its own no variable of the environment names a proxy, and nothing is kept.
        agent: new Agent({ keepAlive: false, maxCachedSessions: 0 }),
        headers: { accept: ACCEPTED, 'accept-encoding': 'identity', 'user-agent': 'keyturn' },
        minVersion: 'TLSv1.2',
        rejectUnauthorized: true,
        ...(caCertificates === null ? {} : { ca: caCertificates }),
      })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw new FetchFailure(`${placeOf(url)} ${describe(error)}`, { cause: error })
    }
  }
}

/** Where a URL points to, without what could be secret in it, in characters that can be printed. */
function placeOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, MAX_PLACE_LENGTH)
}

function parse(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw new FetchFailure('the URL of the keys is no https URL, or has a user in it')
  return url
}

async function get(url: URL, options: Parameters<typeof request>[1]): Promise<HttpsDocument> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, resolve)
      .on('error', reject)
      // Otherwise Node.js destroys the request without a word.
      .on('upgrade', (_response, socket) => {
        socket.destroy()
        reject(new FetchFailure('answers with status 101'))
      })
      .on('close', () => reject(new FetchFailure('closes the connection without an answer')))
      .end()
  })
  try {
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400) throw new FetchFailure('answers with a redirect, which is not followed')
    if (statusCode !== 200) throw new FetchFailure(`answers with status ${statusCode}`)
    // A compressed answer was not asked for, and a few bytes of it can become any number.
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new FetchFailure('answers in a compressed form')
    return { text: await readText(response), headers }
  } finally {
    response.destroy()
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new FetchFailure(`answers with more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function describe(error: unknown): string {
  if (error instanceof FetchFailure) return error.message
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no code'
  if (CERTIFICATE.test(code)) {
    const hint = UNKNOWN_AUTHORITY.test(code)
      ? ': if its authority is meant, name it (--issuer-ca, ca_certificates)'
      : ''
    return `has a certificate that is not trusted (${code})${hint}`
  }
  return UNRESOLVED.includes(code) ? `has a name that cannot be resolved (${code})` : `cannot be reached (${code})`
}
