import { createRemoteJWKSet, jwtVerify } from 'jose'

const { ISSUER, AUDIENCE, CACHE_SECONDS = '300' } = process.env

// Once per process. Without `cacheMaxAge` a copy is kept for 10 minutes.
const keySet = createRemoteJWKSet(new URL('/.well-known/openid-configuration/jwks', ISSUER), {
  cacheMaxAge: Number(CACHE_SECONDS) * 1000,
  // From one fetch to the next for an unknown key. 30 s, which is the default, for 300 s.
  cooldownDuration: Number(CACHE_SECONDS) * 100,
})

/** The claims of a token that is good for this service. Throws for any other. */
export async function verify(token) {
  const { payload } = await jwtVerify(token, keySet, {
    issuer: ISSUER,
    audience: AUDIENCE,
    typ: 'at+jwt',
    requiredClaims: ['sub', 'exp'],
  })
  return payload
}
