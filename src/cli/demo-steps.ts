/**
 * The steps of the demo, as an outside client sees them: tokens over OAuth, keys over the API, verification with
 * nothing but the published key set.
 */
import { type Client, Code, ConnectError } from '@connectrpc/connect'
import { createRemoteJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { OAUTH_PATHS } from '../oauth/endpoints.ts'
import { type Credentials, readCredentials } from '../server/credentials-file.ts'
import { API_SCOPE, connect, requestToken } from './api-client.ts'

/** Plays all steps and says what each one saw. @throws {Error} at the first step that does not hold. */
export async function playDemo(credentialsFile: string, say: (line: string) => void): Promise<void> {
  const credentials = await readCredentials(credentialsFile)
  const webKeys = await connect({ credentials: credentialsFile }, WebKeyService)

  const oldToken = await token(credentials)
  const oldKid = kidOf(oldToken)
  const { sub, exp = 0, iat = 0 } = await verify(credentials, oldToken)
  say(` 1. token for ${sub}, valid for ${exp - iat} s, signed by ${short(oldKid)}; it verifies against the key set`)

  const { webKey: created } = await webKeys.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
  const newKid = created?.keyId ?? ''
  expect(created?.algorithm === 'EdDSA', 'the new key is an Ed25519 key')
  say(` 2. created ${created?.algorithm} key ${short(newKid)}`)

  const published = await publishedKids(credentials)
  expect(published.includes(oldKid) && published.includes(newKid), 'both keys are published')
  say(` 3. the key set has both keys: ${published.map(short).join(', ')}`)

  expect(kidOf(await token(credentials)) === oldKid, 'the old key still signs')
  say(` 4. a token requested now is still signed by ${short(oldKid)}`)

  await webKeys.activateWebKey({ keyId: newKid })
  const newToken = await token(credentials)
  expect(kidOf(newToken) === newKid, 'a new token is signed by the new key')
  say(` 5. activated ${short(newKid)}; a token requested now is signed by it`)

  await verify(credentials, oldToken)
  await verify(credentials, newToken)
  say(' 6. both tokens verify: nobody has to log in again')

  say(` 7. deleting the active key is refused: ${await refusalOfDeletion(webKeys, newKid)}`)

  await webKeys.deleteWebKey({ keyId: oldKid })
  const reason = await refusalOfVerification(credentials, oldToken)
  await verify(credentials, newToken)
  say(` 8. deleted ${short(oldKid)}; its token no longer verifies (${reason}), the new one does`)
}

async function token(credentials: Credentials): Promise<string> {
  return (await requestToken(credentials, API_SCOPE)).access_token
}

/** Verifies like a resource server that has just fetched the key set. */
async function verify({ base_url }: Credentials, accessToken: string): Promise<JWTPayload> {
  const keySet = createRemoteJWKSet(new URL(OAUTH_PATHS.jwks, base_url))
  const { payload } = await jwtVerify(accessToken, keySet, { issuer: base_url, audience: base_url, typ: 'at+jwt' })
  return payload
}

async function publishedKids({ base_url }: Credentials): Promise<string[]> {
  const keySet = (await (await fetch(new URL(OAUTH_PATHS.jwks, base_url))).json()) as { keys: { kid: string }[] }
  return keySet.keys.map(({ kid }) => kid)
}

async function refusalOfDeletion(webKeys: Client<typeof WebKeyService>, keyId: string): Promise<string> {
  const error = await failureOf(webKeys.deleteWebKey({ keyId }))
  if (error instanceof ConnectError && error.code === Code.FailedPrecondition) return error.rawMessage
  throw new Error('this does not hold: the deletion of the active key is refused', { cause: error })
}

async function refusalOfVerification(credentials: Credentials, accessToken: string): Promise<string> {
  const error = await failureOf(verify(credentials, accessToken))
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
