import { createPublicKey } from 'node:crypto'
import { createVerifier } from 'fast-jwt'
import buildGetJwks from 'get-jwks'

const { ISSUER, AUDIENCE, CACHE_SECONDS = '300' } = process.env

const { getJwk } = buildGetJwks({
  jwksPath: '/.well-known/openid-configuration/jwks',
  // For each key by itself. Without it a key is kept for a minute.
  ttl: Number(CACHE_SECONDS) * 1000,
})

/** The claims of a token that is good for this service. Rejects for any other. */
export const verify = createVerifier({
  // Not `getPublicKey` of get-jwks, which does not know Ed25519.
  key: async ({ header: { kid, alg } }) => {
    const key = await getJwk({ domain: ISSUER, kid, alg })
    return createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  },
  algorithms: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
  checkTyp: 'at+jwt',
  allowedIss: ISSUER,
  allowedAud: AUDIENCE,
  requiredClaims: ['iss', 'aud', 'exp', 'sub'],
})
