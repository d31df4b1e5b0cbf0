/**
 * The OAuth endpoints as operations: the token endpoint, introspection, revocation, and the documents. Paths and names come from the code that serves them.
 */
import { SERVICE_AUDIENCE_SCOPE, STANDARD_SCOPES } from '../../src/domain/identities/token-grant.ts'
import { ASSERTION_ALGORITHMS } from '../../src/domain/keys/assertion-algorithm.ts'
import { KEY_ALGORITHM_NAMES } from '../../src/domain/keys/key-algorithm.ts'
import { ASSERTION_TYPES } from '../../src/oauth/client-authentication/presented-credential.ts'
import { discoveryDocument, protectedResourceDocument } from '../../src/oauth/documents/discovery.ts'
import { TOO_MANY_FAILURES } from '../../src/oauth/requests/answers.ts'
import {
  CLIENT_AUTHENTICATION_METHODS,
  DOCUMENT_PATHS,
  MTLS_AUTHENTICATION_METHODS,
  OAUTH_PATHS,
} from '../../src/oauth/requests/endpoints.ts'
import { type HeaderName, headersOf } from './headers.ts'
import { type Json, refTo } from './json.ts'

type AuthenticationMethod = (typeof CLIENT_AUTHENTICATION_METHODS)[number]
type DocumentName = Exclude<(typeof DOCUMENT_PATHS)[keyof typeof DOCUMENT_PATHS], 'openApi'>

/** The tag of all of them. */
export const OAUTH_TAG = {
  name: 'OAuth',
  description: 'Tokens (RFC 6749), and what verifiers need. No bearer token is needed.',
}

const AUTHENTICATION: Readonly<Record<AuthenticationMethod, string>> = {
  client_secret_basic: 'HTTP Basic, with the client ID and the secret form-encoded (RFC 6749 §2.3.1)',
  client_secret_post: '`client_id` and `client_secret` in the form',
  private_key_jwt: '`client_assertion_type` and `client_assertion` in the form (RFC 7523 §2.2)',
}

/** Of the authentication methods, OpenAPI has a scheme for this one only. The others are members of the form. */
const BASIC = 'client_secret_basic' satisfies AuthenticationMethod

/** Security schemes by name. */
export const OAUTH_SECURITY: Json = {
  [BASIC]: { type: 'http', scheme: 'basic', description: `At the token endpoint: ${AUTHENTICATION[BASIC]}.` },
}

const DOCUMENTS: Readonly<Record<DocumentName, { readonly summary: string; readonly schema: string }>> = {
  jwks: { summary: 'The public keys of all keys that sign, will sign or have signed', schema: 'oauth.Jwks' },
  discovery: { summary: 'The addresses and algorithms of the issuer (RFC 8414)', schema: 'oauth.Discovery' },
  protectedResource: {
    summary: 'Where to get a token for this API (RFC 9728)',
    schema: 'oauth.ProtectedResource',
  },
}

/** All endpoints by path. */
export function oauthPaths(): Readonly<Record<string, Readonly<Record<string, Json>>>> {
  const documents = Object.entries(DOCUMENT_PATHS).flatMap(([path, name]) =>
    name === 'openApi' ? [] : [[path, { get: documentOperation(path, name) }]],
  )
  return {
    [OAUTH_PATHS.token]: { post: TOKEN_OPERATION },
    [OAUTH_PATHS.introspection]: { post: INTROSPECTION_OPERATION },
    [OAUTH_PATHS.revocation]: { post: REVOCATION_OPERATION },
    ...Object.fromEntries(documents),
  }
}

const AUTHENTICATION_TEXT = [
  'The client authenticates in one of these ways:',
  [
    ...CLIENT_AUTHENTICATION_METHODS.map((method) => `- \`${method}\`: ${AUTHENTICATION[method]}`),
    `- ${MTLS_AUTHENTICATION_METHODS.map((method) => `\`${method}\``).join(', ')}: \`client_id\` in the form, and a client certificate (RFC 8705 §2), if the ` +
      'operator of the server has switched them on',
  ].join('\n'),
  'Parameters that are not named here are ignored.',
].join('\n\n')

const TOKEN_OPERATION: Json = {
  tags: [OAUTH_TAG.name],
  operationId: 'OAuth_RequestToken',
  summary: 'Issues an access token with the client credentials grant',
  description: AUTHENTICATION_TEXT,
  security: [{ [BASIC]: [] }, {}],
  parameters: [
    {
      name: 'DPoP',
      in: 'header',
      description: 'A proof (RFC 9449 §4.2): binds the token to its key.',
      schema: { type: 'string' },
    },
  ],
  requestBody: {
    required: true,
    content: { 'application/x-www-form-urlencoded': { schema: refTo('schemas', 'oauth.TokenRequest') } },
  },
  responses: {
    200: { description: 'The token.', ...headersOf(['Cache-Control', 'DPoP-Nonce']), ...jsonOf('oauth.Token') },
    ...refusals(),
  },
}

const INTROSPECTION_OPERATION: Json = {
  tags: [OAUTH_TAG.name],
  operationId: 'OAuth_Introspect',
  summary: 'Says whether an access token is active, and what it says (RFC 7662)',
  description: [
    'For service users of the project that the token is for, and for those with the permission `iam.token.read`. For others, and for ' +
      'every token that is not active, the answer is `{"active": false}`.',
    AUTHENTICATION_TEXT,
  ].join('\n\n'),
  security: [{ [BASIC]: [] }, {}],
  requestBody: {
    required: true,
    content: { 'application/x-www-form-urlencoded': { schema: refTo('schemas', 'oauth.IntrospectionRequest') } },
  },
  responses: {
    200: { description: 'What is known.', ...headersOf(['Cache-Control']), ...jsonOf('oauth.Introspection') },
    ...refusals(),
  },
}

const REVOCATION_OPERATION: Json = {
  tags: [OAUTH_TAG.name],
  operationId: 'OAuth_Revoke',
  summary: 'Revokes an access token of the client until it expires (RFC 7009)',
  description: [
    'Calls of the API and introspection refuse it from then on, on all replicas within about a second. Verifiers that do not ask accept ' +
      'it until it expires. A token that is not valid, or already revoked, is no error. At most 100 tokens of a client are revoked at a ' +
      'time: then the answer is 503. A personal access token is refused as `unsupported_token_type`: `RevokePersonalAccessToken` revokes it.',
    AUTHENTICATION_TEXT,
  ].join('\n\n'),
  security: [{ [BASIC]: [] }, {}],
  requestBody: {
    required: true,
    content: { 'application/x-www-form-urlencoded': { schema: refTo('schemas', 'oauth.RevocationRequest') } },
  },
  responses: { 200: { description: 'The token is not valid any more.' }, ...refusals() },
}

/** Of an endpoint that authenticates clients. */
function refusals(): Json {
  return Object.fromEntries(
    ['400', '401', '413', '415', '429', '500', '503'].map((status) => [status, refTo('responses', `OAuth${status}`)]),
  )
}

/** The parameters with which a client authenticates. */
const AUTHENTICATION_PARAMETERS: Json = {
  client_id: {
    type: 'string',
    description:
      '`<user_id>@<project_name>`. May be missing with the JWT of a trusted issuer that names one service user.',
  },
  client_secret: { type: 'string' },
  client_assertion_type: { type: 'string', enum: ASSERTION_TYPES, description: 'The second one is for JWT-SVIDs.' },
  client_assertion: {
    type: 'string',
    description: `A JWT, signed with the client's private key or by a trusted issuer: ${ASSERTION_ALGORITHMS.join(', ')}.`,
  },
}

function documentOperation(path: string, name: DocumentName): Json {
  const caching: readonly HeaderName[] = ['Cache-Control', 'ETag']
  const { summary, schema } = DOCUMENTS[name]
  return {
    tags: [OAUTH_TAG.name],
    operationId: `OAuth_Get${pascalCase(path)}`,
    summary,
    description: 'Pages of any origin may read it. Reuse it for as long as `Cache-Control` says.',
    security: [],
    parameters: [
      {
        name: 'If-None-Match',
        in: 'header',
        description: 'The `ETag` of a copy.',
        schema: { type: 'string' },
      },
    ],
    responses: {
      200: { description: 'The document.', ...headersOf(caching), ...jsonOf(schema) },
      304: { description: 'The copy is current.', ...headersOf(caching) },
      503: refTo('responses', 'OAuth503'),
    },
  }
}

/** A path as part of a name, such as `WellKnownJwksJson`. */
function pascalCase(path: string): string {
  const words = path.split(/[^a-z0-9]+/i).filter((word) => word !== '')
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** The responses that refuse a request, as components. */
export function oauthRefusals(): Json {
  const error = jsonOf('oauth.Error')
  return {
    OAuth400: {
      description:
        '`invalid_request`, `unauthorized_client`, `invalid_scope`, `invalid_target`, `unsupported_grant_type`, `unsupported_token_type`, ' +
        '`invalid_dpop_proof`, or `use_dpop_nonce`: send another proof with the nonce in `DPoP-Nonce` (RFC 9449 §8).',
      ...headersOf(['Cache-Control', 'DPoP-Nonce']),
      ...error,
    },
    OAuth401: {
      description: '`invalid_client`: the authentication failed.',
      ...headersOf(['Cache-Control', 'WWW-Authenticate']),
      ...error,
    },
    OAuth413: { description: '`invalid_request`: the form is too long.', ...headersOf(['Cache-Control']), ...error },
    OAuth415: { description: '`invalid_request`: the form is compressed.', ...headersOf(['Cache-Control']), ...error },
    OAuth429: {
      description: 'Too many failed authentications of the client or of its address. It is no OAuth error.',
      ...headersOf(['Cache-Control', 'Retry-After']),
      ...jsonOf('oauth.TooManyFailures'),
    },
    OAuth500: { description: '`server_error`: the server is at fault.', ...headersOf(['Cache-Control']), ...error },
    OAuth503: {
      description: '`temporarily_unavailable`: try again.',
      ...headersOf(['Cache-Control', 'Retry-After']),
      ...error,
    },
  }
}

/** The schemas by name. */
export function oauthSchemas(): Json {
  return {
    'oauth.TokenRequest': {
      type: 'object',
      description: 'The form of a token request (RFC 6749 §4.4.2).',
      properties: {
        grant_type: { type: 'string', const: 'client_credentials' },
        ...AUTHENTICATION_PARAMETERS,
        scope: {
          type: 'string',
          description: `Separated by spaces. Missing means \`openid\`. Every client can have ${codeList(STANDARD_SCOPES)}.`,
          examples: [`openid ${SERVICE_AUDIENCE_SCOPE}`],
        },
        resource: {
          type: 'array',
          items: { type: 'string', format: 'uri' },
          description:
            `Audiences of projects, or the base URL, which asks for the same as the scope \`${SERVICE_AUDIENCE_SCOPE}\` (RFC 8707). ` +
            'The parameter is repeated for each.',
        },
      },
      required: ['grant_type'],
    },
    'oauth.Token': {
      type: 'object',
      description: 'A token (RFC 6749 §5.1).',
      properties: {
        access_token: { type: 'string', description: 'A JWT (RFC 9068).' },
        token_type: {
          type: 'string',
          enum: ['Bearer', 'DPoP'],
          description: '`DPoP` if the request had a proof: the token is bound to its key (RFC 9449 §5).',
        },
        expires_in: { type: 'integer', description: 'Its lifetime in seconds.' },
        scope: { type: 'string', description: 'What was granted, separated by spaces.' },
      },
      required: ['access_token', 'token_type', 'expires_in', 'scope'],
    },
    'oauth.IntrospectionRequest': {
      type: 'object',
      description: 'The form of an introspection request (RFC 7662 §2.1).',
      properties: {
        token: { type: 'string', description: 'An access token.' },
        token_type_hint: { type: 'string', description: 'It has no effect.' },
        ...AUTHENTICATION_PARAMETERS,
      },
      required: ['token'],
    },
    'oauth.RevocationRequest': {
      type: 'object',
      description: 'The form of a revocation request (RFC 7009 §2.1).',
      properties: {
        token: { type: 'string', description: 'An access token of the client.' },
        token_type_hint: { type: 'string', description: 'It has no effect.' },
        ...AUTHENTICATION_PARAMETERS,
      },
      required: ['token'],
    },
    'oauth.Introspection': {
      type: 'object',
      description:
        'What is known about a token (RFC 7662 §2.2). An active one has all its claims here, its roles among them.',
      properties: {
        active: { type: 'boolean' },
        token_type: { type: 'string', enum: ['Bearer', 'DPoP'] },
        cnf: {
          type: 'object',
          description: 'The key that the token is bound to (RFC 9449 §6.2).',
          properties: { jkt: { type: 'string' } },
        },
        iss: { type: 'string' },
        sub: { type: 'string', description: 'The id of the service user.' },
        aud: { type: 'array', items: { type: 'string' } },
        client_id: { type: 'string' },
        scope: { type: 'string' },
        iat: { type: 'integer' },
        exp: { type: 'integer' },
        jti: { type: 'string' },
      },
      required: ['active'],
    },
    'oauth.Error': {
      type: 'object',
      description: 'An OAuth error (RFC 6749 §5.2).',
      properties: { error: { type: 'string' }, error_description: { type: 'string', description: 'For people.' } },
      required: ['error'],
    },
    'oauth.TooManyFailures': {
      type: 'object',
      properties: Object.fromEntries(Object.keys(TOO_MANY_FAILURES).map((name) => [name, { type: 'string' }])),
      required: Object.keys(TOO_MANY_FAILURES),
    },
    'oauth.Jwks': {
      type: 'object',
      description: 'A JWK Set (RFC 7517 §5), the key that signs first.',
      properties: { keys: { type: 'array', items: refTo('schemas', 'oauth.Jwk') } },
      required: ['keys'],
    },
    'oauth.Jwk': {
      type: 'object',
      description: 'A public key (RFC 7517). An RSA key has `n` and `e`, an elliptic curve `crv`, `x` and perhaps `y`.',
      properties: {
        kid: { type: 'string', description: 'The `keyId` of the web key.' },
        kty: { type: 'string', enum: ['RSA', 'EC', 'OKP'] },
        use: { type: 'string', const: 'sig' },
        alg: { type: 'string', enum: KEY_ALGORITHM_NAMES },
        ...Object.fromEntries(['n', 'e', 'crv', 'x', 'y'].map((name) => [name, { type: 'string' }])),
      },
      required: ['kid', 'kty', 'use', 'alg'],
    },
    'oauth.Discovery': documentSchema(
      'Authorization server metadata (RFC 8414 §2), the same for OpenID Connect Discovery.',
      discoveryDocument(EXAMPLE_ISSUER, { acceptsZitadelScopes: false }),
    ),
    'oauth.ProtectedResource': documentSchema(
      'Protected resource metadata (RFC 9728 §2).',
      protectedResourceDocument(EXAMPLE_ISSUER, {}),
    ),
  }
}

const EXAMPLE_ISSUER = 'https://id.example.com'

/** Of a document as it is served. */
function documentSchema(description: string, document: Readonly<Record<string, unknown>>): Json {
  const properties = Object.entries(document).map(([name, value]) => [
    name,
    Array.isArray(value)
      ? { type: 'array', items: { type: 'string' }, examples: [value] }
      : { type: 'string', format: 'uri', examples: [value] },
  ])
  return {
    type: 'object',
    description,
    properties: Object.fromEntries(properties),
    required: Object.keys(document),
  }
}

function codeList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function jsonOf(schema: string): Json {
  return { content: { 'application/json': { schema: refTo('schemas', schema) } } }
}
