import { allowInsecureRequests, discoveryRequest, processDiscoveryResponse, validateJwtAccessToken } from 'oauth4webapi'

const { ISSUER, AUDIENCE, CACHE_SECONDS = '300' } = process.env

// For an issuer on loopback. Leave it out with https.
const options = { [allowInsecureRequests]: ISSUER.startsWith('http://localhost:') }
let discovered

/**
 * What is known of the issuer. The key set is kept with it, for 300 s. That cannot be set, but a new object comes without a
 * key set.
 */
function authorizationServer() {
  if (discovered === undefined || Date.now() - discovered.at > Number(CACHE_SECONDS) * 1000) {
    const issuer = new URL(ISSUER)
    const server = discoveryRequest(issuer, options).then((response) => processDiscoveryResponse(issuer, response))
    discovered = { server, at: Date.now() }
    server.catch(() => {
      discovered = undefined
    })
  }
  return discovered.server
}

/** The claims of the token of a request, if it is good for this service. Rejects for any other. */
export async function verifyRequest(request) {
  return await validateJwtAccessToken(await authorizationServer(), request, AUDIENCE, options)
}

/** The same for a token. */
export function verify(token) {
  return verifyRequest(new Request('http://localhost', { headers: { authorization: `Bearer ${token}` } }))
}
