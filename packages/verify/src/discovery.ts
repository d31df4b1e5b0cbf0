/**
 * What clients and verifiers both need: the addresses of an issuer's endpoints (RFC 8414 §3), fetching of JSON, time
 * and hashes.
 *
 * For `@keyturn/client` of the same version, and no promise to anyone else.
 */
import { base64url } from 'jose'

export interface IssuerMetadata {
  readonly tokenEndpoint: string
  readonly jwksUri: string
}

export interface FetchOptions {
  readonly fetch: typeof fetch
  readonly timeoutMillis: number
}

type Json = Readonly<Record<string, unknown>>

/** What a token source and a verifier take from their platform. Tests put their own in its place. */
export interface Runtime {
  now(): number
  /** From 0 to below 1. */
  random(): number
  wait(milliseconds: number): Promise<void>
}

const PATH = '/.well-known/oauth-authorization-server'
/** What browsers treat as this machine; addresses within 127.0.0.0/8 too. */
const LOOPBACK = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

export const PLATFORM: Runtime = {
  now: () => Date.now(),
  random: () => Math.random(),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
}

/** Whether a moment was less than that ago. One in the future was not: the clock has been set back, and the age is unknown. */
export function isWithin(milliseconds: number, moment: number, runtime: Pick<Runtime, 'now'>): boolean {
  const age = runtime.now() - moment
  return age >= 0 && age < milliseconds
}

/**
 * The issuer as it is in tokens and metadata: an origin without a slash at its end.
 *
 * @throws {TypeError} unless it is https, or http on a loopback address, without a path.
 */
export function parseIssuer(issuer: string): string {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (url === undefined || issuer !== url.origin || !isSecure(url))
    throw new TypeError(
      `issuer must be the base URL of Keyturn, such as https://id.example.com, with https unless it is a loopback address and without a path: ${JSON.stringify(issuer)} is not`,
    )
  return issuer
}

/**
 * Reads the metadata of an issuer, at the first call and never again after a success.
 *
 * @throws {Error} from the returned function, in one sentence, if it cannot be read or is that of another issuer.
 */
export function createDiscovery(issuer: string, options: FetchOptions): () => Promise<IssuerMetadata> {
  let found: Promise<IssuerMetadata> | undefined
  return () => {
    found ??= discover(issuer, options).catch((error: unknown) => {
      found = undefined
      throw error
    })
    return found
  }
}

async function discover(issuer: string, options: FetchOptions): Promise<IssuerMetadata> {
  const { content } = await fetchJson(issuer + PATH, options)
  if (content.issuer !== issuer)
    throw new Error(`${issuer}${PATH} is the metadata of another issuer: the issuer must be the base URL of Keyturn`)
  return {
    tokenEndpoint: addressOf('token_endpoint', content, issuer),
    jwksUri: addressOf('jwks_uri', content, issuer),
  }
}

function addressOf(name: string, content: Json, issuer: string): string {
  const address = content[name]
  if (typeof address !== 'string' || !URL.canParse(address) || !isSecure(new URL(address)))
    throw new Error(`${issuer}${PATH} has no "${name}" with an address that is https`)
  return address
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname))
}

/** Gets a document. A redirect is an error. @throws {Error} if there is none at the address, in one sentence. */
export async function fetchJson(
  url: string,
  { fetch, timeoutMillis }: FetchOptions,
): Promise<{ readonly content: Json; readonly headers: Headers }> {
  const signal = AbortSignal.timeout(timeoutMillis)
  const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal }).catch(
    (cause: unknown) => {
      throw new Error(`cannot reach ${url}`, { cause })
    },
  )
  if (!response.ok) {
    await discard(response)
    throw new Error(`${url} answered with status ${response.status}`)
  }
  const content = await readJson(response)
  if (content === undefined) throw new Error(`${url} answered with something else than a JSON object`)
  return { content, headers: response.headers }
}

/** The JSON object in a response; undefined if there is none, or if it is incomplete. */
export async function readJson(response: Response): Promise<Json | undefined> {
  const content: unknown = await response.json().catch(() => undefined)
  return typeof content === 'object' && content !== null && !Array.isArray(content) ? (content as Json) : undefined
}

/** Lets the connection go, without reading what is left of the response. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined)
}

/** In base64url, as thumbprints and `ath` are. */
export async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
  return base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}
