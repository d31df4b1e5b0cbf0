/**
 * The discovery document, the same for RFC 8414 and OpenID Connect Discovery.
 *
 * Not that of oidc-provider, which names endpoints that machines do not need, such as one for authorization, and derives URLs from the
 * request instead of the base URL.
 */

import { DPOP_ALGORITHMS } from '../../domain/identities/token-binding.ts'
import { SERVICE_AUDIENCE_SCOPE, STANDARD_SCOPES } from '../../domain/identities/token-grant.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import { KEY_ALGORITHM_NAMES } from '../../domain/keys/key-algorithm.ts'
import type { ClientCertificateVerifier } from '../../domain/ports/verification.ts'
import { CLIENT_AUTHENTICATION_METHODS, OAUTH_PATHS } from '../requests/endpoints.ts'

/**
 * There is nothing at this address, and `response_types_supported` says so. OpenID Connect Discovery §3 requires it, and clients that
 * check the document do not start without, such as the SDK of the Model Context Protocol.
 */
const AUTHORIZATION_PATH = '/oauth/v2/authorize'

/** A member that ZITADEL's client for PHP cannot start without, though it does not use it for machines. There is nothing at the address. */
const ZITADEL_MEMBERS = { userinfo_endpoint: '/oidc/v1/userinfo' }

export interface DiscoveryOptions {
  readonly acceptsZitadelScopes: boolean
  readonly certificates?: Pick<ClientCertificateVerifier, 'trustsAuthorities'>
}

/** The last one is of draft-ietf-oauth-spiffe-client-auth. For a client of oidc-provider it is a secret (decision 28). */
const AUTHENTICATION_METHODS = [...CLIENT_AUTHENTICATION_METHODS, 'spiffe_jwt']

/**
 * Authorization server metadata (RFC 8414 §2, RFC 8705 §3.3, RFC 9449 §5.1). It does not depend on the key ring (decision 20). */
export function discoveryDocument(
  issuer: string,
  { acceptsZitadelScopes, certificates }: DiscoveryOptions,
): Record<string, unknown> {
  const methods = [...AUTHENTICATION_METHODS, ...certificateMethods(certificates)]
  const forZitadel = Object.entries(ZITADEL_MEMBERS).map(([name, path]) => [name, issuer + path])
  return {
    issuer,
    authorization_endpoint: issuer + AUTHORIZATION_PATH,
    token_endpoint: issuer + OAUTH_PATHS.token,
    introspection_endpoint: issuer + OAUTH_PATHS.introspection,
    revocation_endpoint: issuer + OAUTH_PATHS.revocation,
    jwks_uri: issuer + OAUTH_PATHS.jwks,
    scopes_supported: STANDARD_SCOPES,
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    introspection_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
    ...(certificates === undefined ? {} : { tls_client_certificate_bound_access_tokens: true }),
    // No ID tokens are issued; OpenID Connect Discovery §3 requires both members all the same.
    subject_types_supported: ['public'],
    // Verifiers that are configured by discovery take this as the allow-list for access tokens, and read it once.
    id_token_signing_alg_values_supported: KEY_ALGORITHM_NAMES,
    ...(acceptsZitadelScopes ? Object.fromEntries(forZitadel) : {}),
  }
}

/** Metadata of Keyturn's own API (RFC 9728 §2), by which clients learn where to get a token for it. */
export function protectedResourceDocument(
  issuer: string,
  { certificates }: Pick<DiscoveryOptions, 'certificates'>,
): Record<string, unknown> {
  return {
    resource: issuer,
    authorization_servers: [issuer],
    scopes_supported: [SERVICE_AUDIENCE_SCOPE],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
    ...(certificates === undefined ? {} : { tls_client_certificate_bound_access_tokens: true }),
  }
}

/** Names in certificates mean nothing without an authority that vouches for them. */
function certificateMethods(certificates: DiscoveryOptions['certificates']): readonly string[] {
  if (certificates === undefined) return []
  return certificates.trustsAuthorities
    ? ['tls_client_auth', 'self_signed_tls_client_auth']
    : ['self_signed_tls_client_auth']
}
