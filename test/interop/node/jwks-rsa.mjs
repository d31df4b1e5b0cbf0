import jsonwebtoken from 'jsonwebtoken'
import jwksRsa from 'jwks-rsa'

const { ISSUER, AUDIENCE, CACHE_SECONDS = '300' } = process.env

const client = jwksRsa({
  jwksUri: `${ISSUER}/.well-known/openid-configuration/jwks`,
  // For each key by itself. Without it a key is kept for 10 minutes.
  cacheMaxAge: Number(CACHE_SECONDS) * 1000,
})

/** The claims of a token that is good for this service. Rejects for any other. */
export async function verify(token) {
  const { header } = jsonwebtoken.decode(token, { complete: true }) ?? {}
  // It does not look at `typ`.
  if (header?.typ !== 'at+jwt') throw new Error('not an access token')
  const key = await client.getSigningKey(header.kid)
  return jsonwebtoken.verify(token, key.getPublicKey(), {
    algorithms: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'],
    issuer: ISSUER,
    audience: AUDIENCE,
  })
}
