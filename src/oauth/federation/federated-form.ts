/**
 * Recognises token requests with the JWT of another issuer, and hides the JWT from oidc-provider.
 *
 * oidc-provider takes the `sub` of an assertion for the client id and its `iss` too, and knows one type of assertion. So the form that
 * it reads names the client in `client_id` and has a stand-in for a secret, and the JWT stays with the request, where
 * `clients.ts` finds it. From there on a federated request takes the steps of a request with a secret.
 */
import type { IncomingMessage } from 'node:http'
import { parse, stringify } from 'node:querystring'
import { isIssuerName } from '../../domain/federation/trusted-issuer.ts'
import type { FederatedAssertionContent, FederatedAssertionType } from '../../domain/ports/federation.ts'

/** The JWT with which a request authenticates. */
export interface FederatedAssertion extends FederatedAssertionContent {
  /** Undefined: issuer and subject of the JWT name the user. */
  readonly clientId: string | undefined
  /** The SPIFFE ID that stands in `client_id`, which must be the subject; undefined: there is none. */
  readonly spiffeId: string | undefined
}

const ASSERTION = Symbol('federated assertion')

type RequestWithAssertion = IncomingMessage & { [ASSERTION]?: FederatedAssertion }

/** RFC 7523 §2.2, and draft-ietf-oauth-spiffe-client-auth. */
const TYPES: Readonly<Record<string, FederatedAssertionType>> = {
  'urn:ietf:params:oauth:client-assertion-type:jwt-bearer': 'jwt-bearer',
  'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe': 'jwt-spiffe',
}

/** The types of assertions that a token request may have. */
export const ASSERTION_TYPES = Object.keys(TYPES)

/** Stands for the client id of a request without one, and for the secret. Neither can be a credential. */
const STAND_IN = 'federated'

/** Translates the form of the request when oidc-provider reads it. Call it before, and after `limitForm`. */
export function hideFederatedAssertion(req: IncomingMessage): void {
  const iterate = req.iterator.bind(req)
  req.iterator = (options) => translated(iterate(options), req)
  // The form gets shorter. The body has been read to the announced length by then, as Node.js ensures.
  if (req.headers['content-length'] === undefined) return
  delete req.headers['content-length']
  req.headers['transfer-encoding'] = 'chunked'
}

/** The assertion of a request whose form has been read; undefined if it is not federated. */
export function federatedAssertionOf(req: RequestWithAssertion): FederatedAssertion | undefined {
  return req[ASSERTION]
}

async function* translated(
  chunks: AsyncIterable<Uint8Array>,
  req: RequestWithAssertion,
): AsyncGenerator<Uint8Array, undefined> {
  const form: Uint8Array[] = []
  for await (const chunk of chunks) form.push(chunk)
  yield translate(Buffer.concat(form), req)
}

function translate(form: Buffer, req: RequestWithAssertion): Uint8Array {
  const { client_assertion: jwt, client_assertion_type: name, ...fields } = parse(form.toString())
  const type = typeof name === 'string' && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined
  // Two credentials at once are refused by oidc-provider.
  const hasOther = req.headers.authorization !== undefined || fields.client_secret !== undefined
  if (typeof jwt !== 'string' || type === undefined || hasOther || !isFederated(jwt, type)) return form
  const { client_id: given } = fields
  const named = typeof given === 'string' && given !== '' ? given : undefined
  const isSpiffeId = type === 'jwt-spiffe' && named?.startsWith('spiffe://') === true
  req[ASSERTION] = { jwt, type, clientId: isSpiffeId ? undefined : named, spiffeId: isSpiffeId ? named : undefined }
  // A client id that is there twice is refused by oidc-provider.
  return Buffer.from(stringify({ ...fields, client_id: given || STAND_IN, client_secret: STAND_IN }))
}

/** A client's own assertion has its client id as `iss` (RFC 7523 §3), which is no issuer's name. */
function isFederated(jwt: string, type: FederatedAssertionType): boolean {
  if (type === 'jwt-spiffe') return true
  const iss = claimedIssuer(jwt)
  return typeof iss === 'string' && isIssuerName(iss)
}

function claimedIssuer(jwt: string): unknown {
  try {
    const claims: unknown = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
    return typeof claims === 'object' && claims !== null && 'iss' in claims ? claims.iss : undefined
  } catch {
    return undefined
  }
}
