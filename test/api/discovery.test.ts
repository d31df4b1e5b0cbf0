import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const ADDRESS = '/.well-known/openid-configuration'
const JWKS = '/.well-known/openid-configuration/jwks'
const AUTHENTICATION_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'spiffe_jwt']
const ASSERTION_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

let instance: OAuthInstance

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off' })
})

afterAll(() => instance?.stop())

describe('the discovery document', () => {
  it('names the endpoints that there are, at the base URL, and no others [RFC 8414 §2]', async () => {
    const { baseUrl } = instance.keyturn
    const response = await instance.fetch(ADDRESS)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await response.json()).toEqual({
      issuer: baseUrl,
      // Required (OpenID Connect Discovery §3), though there is nothing there.
      authorization_endpoint: `${baseUrl}/oauth/v2/authorize`,
      token_endpoint: `${baseUrl}/oauth/v2/token`,
      introspection_endpoint: `${baseUrl}/oauth/v2/introspect`,
      revocation_endpoint: `${baseUrl}/oauth/v2/revoke`,
      jwks_uri: baseUrl + JWKS,
      scopes_supported: [
        'openid',
        'urn:service:iam:org:project:id:service:aud',
        'urn:service:iam:org:projects:roles',
        'profile',
        'email',
        'offline_access',
      ],
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: AUTHENTICATION_METHODS,
      token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
      introspection_endpoint_auth_methods_supported: AUTHENTICATION_METHODS,
      introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
      revocation_endpoint_auth_methods_supported: AUTHENTICATION_METHODS,
      revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
      dpop_signing_alg_values_supported: ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'PS384', 'PS512'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
    })
  })

  it('does not believe what a request says about the host', async () => {
    const document = (await getWith(instance.keyturn.listenUrl + ADDRESS, {
      host: 'evil.example',
      forwarded: 'host=evil.example;proto=https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
    })) as Record<string, string>
    expect(document.issuer).toBe(instance.keyturn.baseUrl)
    expect(JSON.stringify(document)).not.toContain('evil')
  })
})

describe('the metadata of the API as a protected resource [RFC 9728 §3]', () => {
  const PATH = '/.well-known/oauth-protected-resource'

  it('say how tokens are sent, and are where the challenge of a refused call says [RFC 9728 §5.1]', async () => {
    const refused = await instance.fetch('/iam.webkey.v2.WebKeyService/ListWebKeys', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${instance.keyturn.baseUrl}${PATH}"`,
    )
    expect(await (await instance.fetch(PATH)).json()).toEqual({
      resource: instance.keyturn.baseUrl,
      authorization_servers: [instance.keyturn.baseUrl],
      scopes_supported: ['urn:service:iam:org:project:id:service:aud'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'PS384', 'PS512'],
    })
  })
})

/** Asks with any headers; fetch sets `host` itself. */
function getWith(url: string, headers: Record<string, string>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers }, (response) => json(response).then(resolve, reject))
    outgoing.on('error', reject)
    outgoing.end()
  })
}
