/**
 * Parses the token request that nearly all clients send: the client credentials grant, with a secret (RFC 6749 §4.4.2, §2.3.1) and an
 * optional scope.
 *
 * Any other request is left to oidc-provider. So this may recognise few requests, but must never understand one differently.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { parse } from 'node:querystring'

/** The parameters of a plain request. */
export interface PlainRequest {
  readonly clientId: string
  readonly secret: string
  readonly scope: string | undefined
}

type Fields = Readonly<Record<string, string>>

const FIELDS: ReadonlySet<string> = new Set(['grant_type', 'client_id', 'client_secret', 'scope'])

/** Scopes without unusual characters. */
const PLAIN_SCOPE = /^[\w:.-]+(?: [\w:.-]+)*$/

const BASIC = /^basic ([a-z0-9+/]+={0,2})$/i
const PRINTABLE = /^[ -~]+$/

/** Headers that change the meaning of a request. */
const SPECIAL_HEADERS = ['dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop']

/** @returns Undefined if anything about the request is unusual. */
export function readPlainRequest(headers: IncomingHttpHeaders, form: string): PlainRequest | undefined {
  for (const name of SPECIAL_HEADERS) if (headers[name] !== undefined) return undefined
  // Without empty fields, a form of four names cannot exceed the parser's limit of fields (`form-body.ts`).
  if (form.includes('&&')) return undefined
  const fields = parse(form)
  for (const name in fields) if (!FIELDS.has(name) || typeof fields[name] !== 'string') return undefined
  const { grant_type: grantType, client_id: clientId, client_secret: secret, scope } = fields as Fields
  if (grantType !== 'client_credentials') return undefined
  if (scope !== undefined && !PLAIN_SCOPE.test(scope)) return undefined

  if (headers.authorization === undefined) {
    return clientId && secret ? { clientId, secret, scope } : undefined
  }
  const basic = readBasic(headers.authorization)
  // An empty `client_id` is not recognised, because oidc-provider ignores it.
  const conflicts = secret !== undefined || (clientId !== undefined && clientId !== basic?.clientId)
  return basic === undefined || conflicts ? undefined : { ...basic, scope }
}

/** The credentials of HTTP Basic, each form-encoded (RFC 6749 §2.3.1). */
function readBasic(authorization: string): Omit<PlainRequest, 'scope'> | undefined {
  const encoded = BASIC.exec(authorization)?.[1] ?? ''
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return undefined
  const text = bytes.toString()
  const colon = text.indexOf(':')
  if (colon < 1) return undefined
  const clientId = decode(text.slice(0, colon))
  const secret = decode(text.slice(colon + 1))
  return clientId && secret ? { clientId, secret } : undefined
}

function decode(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part.replaceAll('+', ' '))
    return PRINTABLE.test(text) ? text : undefined
  } catch {
    return undefined
  }
}
