/**
 * Discovery as clients and verifiers do it: the addresses of the endpoints of an issuer (RFC 8414 §3).
 */
import { type FetchOptions, fetchJson } from './json-document.ts'

/** The addresses that an issuer publishes. */
export interface IssuerMetadata {
  readonly tokenEndpoint: string
  readonly jwksUri: string
}

const PATH = '/.well-known/oauth-authorization-server'
/** What browsers treat as this machine; addresses within 127.0.0.0/8 too. */
const LOOPBACK = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

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

function addressOf(name: string, content: Readonly<Record<string, unknown>>, issuer: string): string {
  const address = content[name]
  if (typeof address !== 'string' || !URL.canParse(address) || !isSecure(new URL(address)))
    throw new Error(`${issuer}${PATH} has no "${name}" with an address that is https`)
  return address
}

function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname))
}
