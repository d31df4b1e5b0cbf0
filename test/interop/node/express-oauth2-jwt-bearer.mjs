import { auth } from 'express-oauth2-jwt-bearer'

const { ISSUER, AUDIENCE, CACHE_SECONDS = '300' } = process.env

/** For `app.use`. It discovers the address of the key set, and the algorithms, and keeps them as long as the key set. */
export const requireAccessToken = auth({
  issuerBaseURL: ISSUER,
  audience: AUDIENCE,
  strict: true,
  cacheMaxAge: Number(CACHE_SECONDS) * 1000,
  // From one fetch to the next for an unknown key. 30 s, which is the default, for 300 s.
  cooldownDuration: Number(CACHE_SECONDS) * 100,
})
