import jose from 'node-jose'

const { ISSUER, AUDIENCE, CACHE_SECONDS = '300' } = process.env

let copy

/** The key set, which this library does not fetch by itself. */
async function keyStore(kid) {
  const isOld = copy === undefined || Date.now() - copy.at > Number(CACHE_SECONDS) * 1000
  if (isOld || copy.store.get(kid) === null) {
    const response = await fetch(new URL('/.well-known/openid-configuration/jwks', ISSUER))
    copy = { store: await jose.JWK.asKeyStore(await response.json()), at: Date.now() }
  }
  return copy.store
}

/** The claims of a token that is good for this service. Rejects for any other. */
export async function verify(token) {
  const { kid, typ } = JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString())
  if (typ !== 'at+jwt') throw new Error('not an access token')
  const { payload } = await jose.JWS.createVerify(await keyStore(kid)).verify(token)
  const { iss, aud, exp, ...claims } = JSON.parse(payload.toString())
  if (iss !== ISSUER || ![aud].flat().includes(AUDIENCE)) throw new Error('a token of another issuer, or for others')
  if (exp * 1000 <= Date.now()) throw new Error('expired')
  return claims
}
