/**
 * oidc-provider as its documentation has it, for the same request and the same answer: its in-memory adapter, static
 * clients whose secrets it compares itself, and a signed JWT as access token.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JWK, Provider } from 'oidc-provider'
import { derivedClients } from './clients.ts'
import { SCOPE, USUAL_CLIENTS } from './contender.ts'
import { newPrivateKey, parseAlgorithm } from './key-pair.ts'

const algorithm = parseAlgorithm(process.argv[2])
const jwk = { ...newPrivateKey(algorithm).export({ format: 'jwk' }), use: 'sig', alg: algorithm, kid: 'plain' } as JWK

// The issuer has the port in it, so the port comes first.
const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    jwks: { keys: [jwk] },
    clientDefaults: { id_token_signed_response_alg: algorithm },
    enabledJWA: { idTokenSigningAlgValues: [algorithm] },
    clients: derivedClients(USUAL_CLIENTS).map(({ clientId, clientSecret }) => ({
      client_id: clientId,
      client_secret: clientSecret,
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    scopes: [],
    responseTypes: [],
    ttl: { ClientCredentials: 3600 },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => issuer,
        getResourceServerInfo: () => ({
          scope: SCOPE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: algorithm, kid: 'plain' } },
        }),
      },
    },
    formats: {
      customizers: {
        jwt: (_ctx, _token, draft) => {
          const { payload } = draft as { payload: { client_id: string } }
          Object.assign(payload, { sub: payload.client_id.slice(0, 36), aud: [issuer] })
        },
      },
    },
  })
  server.on('request', provider.callback())
  process.stdout.write(`oidc-provider listens on ${issuer}\n`)
})
process.on('SIGTERM', () => process.exit())
