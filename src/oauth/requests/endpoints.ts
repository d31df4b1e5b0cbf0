/**
 * The paths of the OAuth endpoints (Spec §4.1, §4.2; RFC 7662 §2, RFC 7009 §2) and of all public documents, and the client authentication methods.
 */

import { PROTECTED_RESOURCE_PATH } from '../../domain/identities/token-grant.ts'

export const OAUTH_PATHS = {
  token: '/oauth/v2/token',
  introspection: '/oauth/v2/introspect',
  revocation: '/oauth/v2/revoke',
  jwks: '/.well-known/openid-configuration/jwks',
  openidConfiguration: '/.well-known/openid-configuration',
  authorizationServer: '/.well-known/oauth-authorization-server',
} as const

export type ClientEndpoint = 'token' | 'introspection' | 'revocation'

/**
 * The published documents by path. The key set has three addresses: that of the specification, which discovery names, and two that
 * software without discovery assumes.
 */
export const DOCUMENT_PATHS = {
  [OAUTH_PATHS.jwks]: 'jwks',
  '/.well-known/jwks.json': 'jwks',
  '/oauth/v2/keys': 'jwks',
  [OAUTH_PATHS.openidConfiguration]: 'discovery',
  [OAUTH_PATHS.authorizationServer]: 'discovery',
  [PROTECTED_RESOURCE_PATH]: 'protectedResource',
  '/openapi.json': 'openApi',
} as const

/** By client certificate (RFC 8705 §2): by a name in it, or the certificate itself. */
export const MTLS_AUTHENTICATION_METHODS = ['tls_client_auth', 'self_signed_tls_client_auth'] as const

/** By secret (RFC 6749 §2.3.1), or with an assertion (RFC 7523). */
export const CLIENT_AUTHENTICATION_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
