/**
 * The steps of the demo, as an outside client sees them: tokens over OAuth, keys over the API, verification with
 * nothing but the published key set.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import { createRemoteJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { OAUTH_PATHS } from '../../oauth/endpoints.ts'
import { type Credentials, readCredentials } from '../../secret-files/credentials-file.ts'
import { type Api, openApi } from '../api.ts'
import { API_SCOPE, requestToken } from '../connection/token-request.ts'

const { method: Methods } = WebKeyService

/** What the demo needs. */
export interface DemoOptions {
  readonly credentialsFile: string
  /** How long clients may reuse the key set, in seconds. The demo waits for it twice. */
  readonly jwksMaxAgeSeconds: number
  /** Takes each line. */
  readonly say: (line: string) => void
}

/**
 * Plays all steps and says what each one saw. One verifier, which fetches the key set no more often than it must, checks the
 * tokens from the first step to the last.
 *
 * @throws {Error} at the first step that does not hold.
 */
export async function playDemo({ credentialsFile, jwksMaxAgeSeconds, say }: DemoOptions): Promise<void> {
  const credentials = await readCredentials(credentialsFile)
  const api = await openApi({ env: {} }, { credentials: credentialsFile })
  const verify = createVerifier(credentials, jwksMaxAgeSeconds)
  const untilCachesExpire = () => delay(jwksMaxAgeSeconds * 1000 + MARGIN)

  const oldToken = await token(credentials)
  const oldKid = kidOf(oldToken)
  const { sub, exp = 0, iat = 0 } = await verify(oldToken)
  say(` 1. token for ${sub}, valid for ${exp - iat} s, signed by ${short(oldKid)}; a verifier accepts it`)

  const { webKey: created } = await api.call(Methods.createWebKey, {
    config: { config: { case: 'rsa', value: {} } },
  })
  const newKid = created?.keyId ?? ''
  expect(created?.algorithm === 'RS256', 'the new key is of the same kind')
  say(` 2. created ${created?.algorithm} key ${short(newKid)}`)

  const published = await publishedKids(credentials)
  expect(published.join() === `${oldKid},${newKid}`, 'both keys are published, the active one first')
  say(` 3. the key set has both keys: ${published.map(short).join(', ')}`)

  expect(kidOf(await token(credentials)) === oldKid, 'the old key still signs')
  say(` 4. a token requested now is still signed by ${short(oldKid)}`)

  await untilCachesExpire()
  await api.call(Methods.activateWebKey, { keyId: newKid })
  const newToken = await token(credentials)
  expect(kidOf(newToken) === newKid, 'a new token is signed by the new key')
  say(
    ` 5. waited for the cache time of the key set (${jwksMaxAgeSeconds} s here) and activated ${short(newKid)}; it signs now`,
  )

  await verify(newToken)
  await verify(oldToken)
  say(' 6. the verifier of step 1 accepts both tokens: it has noticed nothing')

  say(` 7. deleting the active key is refused: ${await refusalOfDeletion(api, newKid)}`)

  await api.call(Methods.deleteWebKey, { keyId: oldKid })
  await untilCachesExpire()
  const reason = await refusalOfVerification(verify(oldToken))
  await verify(newToken)
  say(
    ` 8. deleted ${short(oldKid)}; the verifier refuses its token (${reason}) once its copy has expired, not the new one`,
  )
}

/** For timers and dates that are rounded, in milliseconds. */
const MARGIN = 100

async function token(credentials: Credentials): Promise<string> {
  return (await requestToken(credentials, API_SCOPE)).access_token
}

/** Verifies like a resource server that keeps the key set for as long as it may. */
function createVerifier(
  { base_url }: Credentials,
  jwksMaxAgeSeconds: number,
): (accessToken: string) => Promise<JWTPayload> {
  const keySet = createRemoteJWKSet(new URL(OAUTH_PATHS.jwks, base_url), { cacheMaxAge: jwksMaxAgeSeconds * 1000 })
  return async (accessToken) => {
    const { payload } = await jwtVerify(accessToken, keySet, { issuer: base_url, audience: base_url, typ: 'at+jwt' })
    return payload
  }
}

async function publishedKids({ base_url }: Credentials): Promise<string[]> {
  const keySet = (await (await fetch(new URL(OAUTH_PATHS.jwks, base_url))).json()) as { keys: { kid: string }[] }
  return keySet.keys.map(({ kid }) => kid)
}

async function refusalOfDeletion(api: Api, keyId: string): Promise<string> {
  const error = await failureOf(api.call(Methods.deleteWebKey, { keyId }))
  if (error instanceof ConnectError && error.code === Code.FailedPrecondition) return error.rawMessage
  throw new Error('this does not hold: the deletion of the active key is refused', { cause: error })
}

async function refusalOfVerification(verification: Promise<unknown>): Promise<string> {
  const error = await failureOf(verification)
  if (error instanceof errors.JWKSNoMatchingKey) return error.code
  throw new Error('this does not hold: the token of the deleted key no longer verifies', { cause: error })
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
    return undefined
  } catch (error) {
    return error
  }
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`this does not hold: ${what}`)
}

function kidOf(accessToken: string): string {
  return decodeProtectedHeader(accessToken).kid ?? ''
}

function short(kid: string): string {
  return `${kid.slice(0, 8)}…`
}
