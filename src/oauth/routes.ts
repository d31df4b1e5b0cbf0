/** The request handlers of the OAuth endpoints and of the description of the API. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KeySnapshot } from '../app/replica/replica-memory.ts'
import type { HeaderList } from '../domain/http-headers.ts'
import { isUnchanged } from '../domain/http-headers.ts'
import type { RouteHandler } from '../http/requests/router.ts'
import { type ClientEndpointOptions, ClientEndpoints } from './client-endpoint.ts'
import { discoveryDocument, protectedResourceDocument } from './documents/discovery.ts'
import { keySetOf, type PublishedDocument, publishDocument } from './documents/jwks.ts'
import { send, toAnswer, unavailable } from './requests/answers.ts'
import type { ClientEndpoint, DOCUMENT_PATHS } from './requests/endpoints.ts'
import type { Form } from './requests/form.ts'
import { createAccessTokenSigner } from './token/token-grants.ts'

export interface OAuthOptions extends Omit<ClientEndpointOptions, 'signer'> {
  readonly openApi: PublishedDocument
  /** How long clients may cache the key set, in seconds (Spec §8). */
  readonly jwksMaxAgeSeconds: number
  /** How long ago the database confirmed this replica's state, in seconds. */
  readonly stalenessSeconds: () => number
  /** Whether a token request is answered without oidc-provider. Default: if it is plain. */
  readonly isPlain?: (form: Form) => boolean
}

/**
 * The handlers: `POST` of the endpoints at which clients authenticate, which answer 503 while no key is active (Spec §3 rule 2), and `GET` of the
 * documents, for all their addresses.
 */
export type OAuthRoutes = Readonly<
  Record<ClientEndpoint | (typeof DOCUMENT_PATHS)[keyof typeof DOCUMENT_PATHS], RouteHandler>
>

export interface OAuth {
  readonly routes: OAuthRoutes
  /** Serves another key ring from now on: a request that is being answered is signed with its key. */
  switchTo(snapshot: KeySnapshot): void
}

/** Makes the endpoints, without a key ring yet. */
export function createOAuth(options: OAuthOptions): OAuth {
  const { issuer, openApi, jwksMaxAgeSeconds, isFresh, stalenessSeconds, isPlain } = options
  const serve = ({ ring, signer }: KeySnapshot) => ({
    keySet: publishDocument(keySetOf(ring)),
    signer: signer === null ? null : createAccessTokenSigner(signer),
  })
  let current = serve({ ring: [], signer: null })
  const cacheControl = `public, max-age=${jwksMaxAgeSeconds}, must-revalidate`
  const document = (pick: () => PublishedDocument): RouteHandler => {
    return (req, res, headers) => {
      if (!isFresh()) {
        const refusal = toAnswer(unavailable(), options)
        options.contexts.refused(req, refusal.code)
        return send(res, refusal, headers)
      }
      const { etag, body } = pick()
      const always = [...headers, 'cache-control', cacheControl, ...ageOf(stalenessSeconds()), 'etag', etag]
      if (isUnchanged(req.headers['if-none-match'], etag)) res.writeHead(304, always).end()
      else sendDocument(req, res, body, always)
    }
  }
  const endpoints = new ClientEndpoints({ ...options, signer: () => current.signer }, isPlain)
  const discovery = publishDocument(discoveryDocument(issuer, options))
  const protectedResource = publishDocument(protectedResourceDocument(issuer, options))
  return {
    routes: {
      token: endpoints.at('token'),
      introspection: endpoints.at('introspection'),
      revocation: endpoints.at('revocation'),
      jwks: document(() => current.keySet),
      discovery: document(() => discovery),
      protectedResource: document(() => protectedResource),
      openApi: document(() => openApi),
    },
    switchTo: (snapshot) => {
      current = serve(snapshot)
    },
  }
}

/**
 * `Age` (RFC 9111 §5.1): a replica is a cache of the database. Without it, caches would keep a stale document for the whole of
 * `max-age`, and a verifier's key set could be older than that by the replica's staleness.
 */
function ageOf(stalenessSeconds: number): HeaderList {
  const age = Math.floor(stalenessSeconds)
  return age >= 1 ? ['age', String(age)] : []
}

function sendDocument(
  req: IncomingMessage,
  res: ServerResponse,
  body: PublishedDocument['body'],
  headers: HeaderList,
): void {
  const content = ['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)]
  res.writeHead(200, [...headers, ...content])
  if (req.method === 'HEAD') res.end()
  else res.end(body, 'latin1')
}
