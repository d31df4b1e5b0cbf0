/**
 * Where the OAuth endpoints are (Spec §4.1, §4.2).
 */

/** Paths below the base URL. */
export const OAUTH_PATHS = {
  token: '/oauth/v2/token',
  jwks: '/.well-known/openid-configuration/jwks',
  openidConfiguration: '/.well-known/openid-configuration',
  authorizationServer: '/.well-known/oauth-authorization-server',
} as const
