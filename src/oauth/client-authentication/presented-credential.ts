/** Reads from a request by what the client authenticates (RFC 6749 §2.3, RFC 7523 §2.2, RFC 8705 §2). Nothing is proved by that. */
import type { IncomingMessage } from 'node:http'
import { errors } from 'oidc-provider'
import { isIssuerName } from '../../domain/federation/trusted-issuer.ts'
import type { FederatedAssertionContent, FederatedAssertionType } from '../../domain/ports/federation.ts'
import { invalidClient } from '../requests/answers.ts'
import { type Form, fieldOf, unverifiedClaims } from '../requests/form.ts'

export interface FederatedAssertion extends FederatedAssertionContent {
  /** The SPIFFE ID that stands in `client_id`, which must be the subject; undefined: there is none. */
  readonly spiffeId: string | undefined
}

/** A credential, and the client ID that goes with it. */
export type PresentedCredential =
  | { readonly kind: 'secret'; readonly clientId: string; readonly secret: string }
  | { readonly kind: 'key'; readonly clientId: string; readonly assertion: string }
  /** Without a client id, issuer and subject of the JWT name the user. */
  | { readonly kind: 'federated'; readonly clientId: string | undefined; readonly assertion: FederatedAssertion }
  | { readonly kind: 'certificate'; readonly clientId: string }

/** RFC 7523 §2.2, and draft-ietf-oauth-spiffe-client-auth. */
const TYPES: Readonly<Record<string, FederatedAssertionType>> = {
  'urn:ietf:params:oauth:client-assertion-type:jwt-bearer': 'jwt-bearer',
  'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe': 'jwt-spiffe',
}

export const ASSERTION_TYPES = Object.keys(TYPES)

const BASIC = /^basic ([a-z0-9+/]+={0,2})$/i
const PRINTABLE = /^[ -~]+$/

/** @throws `invalid_client` if there is none, or none that can be read (RFC 6749 §5.2); `invalid_request` if there are two. */
export function presentedCredential(form: Form, { headers }: Pick<IncomingMessage, 'headers'>): PresentedCredential {
  const [clientId, secret, jwt] = ['client_id', 'client_secret', 'client_assertion'].map((name) => fieldOf(form, name))
  const authorization = headers.authorization || undefined
  if ([authorization, secret, jwt].filter((each) => each !== undefined).length > 1)
    throw new errors.InvalidRequest('client authentication must only be provided using one mechanism')
  if (jwt !== undefined) return assertionIn(jwt, clientId, fieldOf(form, 'client_assertion_type'))
  if (authorization !== undefined) {
    const basic = readBasic(authorization)
    assertSame(clientId, basic.clientId)
    return basic
  }
  if (clientId === undefined) throw invalidClient('the client must authenticate: send client_id and a credential')
  return secret === undefined ? { kind: 'certificate', clientId } : { kind: 'secret', clientId, secret }
}

function assertionIn(jwt: string, clientId: string | undefined, typeName = ''): PresentedCredential {
  const type = Object.hasOwn(TYPES, typeName) ? TYPES[typeName] : undefined
  if (type === undefined)
    throw new errors.InvalidRequest(`client_assertion_type must be ${ASSERTION_TYPES.join(' or ')}`)
  const { iss, sub } = unverifiedClaims(jwt) ?? {}
  // A client's own assertion has its client id as `iss` (RFC 7523 §3), which is no issuer's name.
  if (type === 'jwt-spiffe' || (typeof iss === 'string' && isIssuerName(iss))) {
    const spiffeId = type === 'jwt-spiffe' && clientId?.startsWith('spiffe://') === true ? clientId : undefined
    return {
      kind: 'federated',
      clientId: spiffeId === undefined ? clientId : undefined,
      assertion: { jwt, type, spiffeId },
    }
  }
  if (typeof sub !== 'string' || sub === '') throw invalidClient('sub must be the client_id')
  assertSame(clientId, sub)
  return { kind: 'key', clientId: sub, assertion: jwt }
}

/** The credentials of HTTP Basic, each form-encoded (RFC 6749 §2.3.1). */
function readBasic(authorization: string): Extract<PresentedCredential, { kind: 'secret' }> {
  const encoded = BASIC.exec(authorization)?.[1] ?? ''
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  const clientId = decode(text.slice(0, Math.max(0, colon)))
  const secret = decode(text.slice(colon + 1))
  if (colon < 0 || !clientId || !secret)
    throw invalidClient(
      'the header Authorization must be HTTP Basic with client_id and client_secret, both form-encoded',
    )
  return { kind: 'secret', clientId, secret }
}

function decode(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part.replaceAll('+', ' '))
    return PRINTABLE.test(text) ? text : undefined
  } catch {
    return undefined
  }
}

function assertSame(given: string | undefined, clientId: string): void {
  if (given !== undefined && given !== clientId) throw new errors.InvalidRequest('client_id mismatch')
}
