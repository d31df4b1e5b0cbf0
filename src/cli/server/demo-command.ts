/**
 * `keyturn demo`: a key rotation through a real server in this process, with a database in a temporary folder, as an outside client sees it:
 * tokens over OAuth, keys over the API, verification with nothing but the published key set.
 *
 * Each step is checked; the first one that does not hold ends the demo with an error.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import { Command } from 'commander'
import { createRemoteJWKSet, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/read-config.ts'
import { OAUTH_PATHS } from '../../oauth/requests/endpoints.ts'
import { openApi } from '../api.ts'
import { API_SCOPE, requestToken } from '../connection/token-request.ts'
import type { Io } from '../io.ts'
import { firstSignal } from './signals.ts'

export function demoCommand(io: Io): Command {
  return new Command('demo').action(async () => {
    // Loaded here, not above: commands that talk to a server start twice as fast without one inside.
    const [{ startServer }, { openLog }] = await Promise.all([
      import('../../server/server.ts'),
      import('../../telemetry/log/log.ts'),
    ])
    const stopping = new AbortController()
    const interrupted = firstSignal().then((signal) => {
      stopping.abort(new Error(`interrupted by ${signal}`))
      throw stopping.signal.reason
    })
    interrupted.catch(() => {})
    const dataDir = await mkdtemp(join(tmpdir(), 'keyturn-demo-'))
    // The environment is ignored.
    const config = {
      ...readConfig({ KEYTURN_LISTEN: '127.0.0.1:0', KEYTURN_DATA_DIR: dataDir, KEYTURN_LOG_LEVEL: 'error' }, {}),
      metricsListen: null,
      // The demo waits for caches to expire.
      jwksMaxAgeSeconds: 1,
      activationGuard: 'enforce',
    } as const
    try {
      const server = await startServer(config, openLog(config.logLevel), { signal: stopping.signal })
      try {
        io.stdout.write(`Keyturn listens on ${server.listenUrl}, with a database in a temporary folder.\n`)
        const say = (line: string) => io.stdout.write(`${line}\n`)
        await Promise.race([playDemo(config, say), interrupted])
        io.stdout.write('Every step held.\n')
      } finally {
        await server.stop()
      }
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  })
}

const { method: Methods } = WebKeyService

/**
 * Plays all steps and says what each one saw. One verifier, which fetches the key set no more often than it must, checks the
 * tokens from the first step to the last.
 *
 * @throws {Error} at the first step that does not hold.
 */
async function playDemo(
  { credentialsFile, jwksMaxAgeSeconds }: Pick<Config, 'credentialsFile' | 'jwksMaxAgeSeconds'>,
  say: (line: string) => void,
): Promise<void> {
  const api = await openApi({ env: {} }, { credentials: credentialsFile })
  const { base_url: baseUrl } = api.target
  const jwks = new URL(OAUTH_PATHS.jwks, baseUrl)
  const keySet = createRemoteJWKSet(jwks, { cacheMaxAge: jwksMaxAgeSeconds * 1000 })
  const verify = (accessToken: string) =>
    jwtVerify(accessToken, keySet, { issuer: baseUrl, audience: baseUrl, typ: 'at+jwt' })
  const token = async () => (await requestToken(api.target, API_SCOPE)).access_token
  const untilCachesExpire = () => delay(jwksMaxAgeSeconds * 1000 + MARGIN)

  const oldToken = await token()
  const oldKid = kidOf(oldToken)
  const { sub, exp = 0, iat = 0 } = (await verify(oldToken)).payload
  say(` 1. token for ${sub}, valid for ${exp - iat} s, signed by ${short(oldKid)}; a verifier accepts it`)

  const { webKey: created } = await api.call(Methods.createWebKey, {
    config: { config: { case: 'rsa', value: {} } },
  })
  const newKid = created?.keyId ?? ''
  expect(created?.algorithm === 'RS256', 'the new key is of the same kind')
  say(` 2. created ${created?.algorithm} key ${short(newKid)}`)

  const { keys } = (await (await fetch(jwks)).json()) as { keys: { kid: string }[] }
  const published = keys.map(({ kid }) => kid)
  expect(published.join() === `${oldKid},${newKid}`, 'both keys are published, the active one first')
  say(` 3. the key set has both keys: ${published.map(short).join(', ')}`)

  expect(kidOf(await token()) === oldKid, 'the old key still signs')
  say(` 4. a token requested now is still signed by ${short(oldKid)}`)

  await untilCachesExpire()
  await api.call(Methods.activateWebKey, { keyId: newKid })
  const newToken = await token()
  expect(kidOf(newToken) === newKid, 'a new token is signed by the new key')
  say(
    ` 5. waited for the cache time of the key set (${jwksMaxAgeSeconds} s here) and activated ${short(newKid)}; it signs now`,
  )

  await verify(newToken)
  await verify(oldToken)
  say(' 6. the verifier of step 1 accepts both tokens: it has noticed nothing')

  const refusal = await api.call(Methods.deleteWebKey, { keyId: newKid }).catch((error: unknown) => error)
  if (!(refusal instanceof ConnectError) || refusal.code !== Code.FailedPrecondition)
    throw new Error('this does not hold: the deletion of the active key is refused')
  say(` 7. deleting the active key is refused: ${refusal.rawMessage}`)

  await api.call(Methods.deleteWebKey, { keyId: oldKid })
  await untilCachesExpire()
  const reason = await verify(oldToken).catch((error: unknown) => error)
  if (!(reason instanceof errors.JWKSNoMatchingKey))
    throw new Error('this does not hold: the token of the deleted key no longer verifies')
  await verify(newToken)
  say(
    ` 8. deleted ${short(oldKid)}; the verifier refuses its token (${reason.code}) once its copy has expired, not the new one`,
  )
}

/** For timers and dates that are rounded, in milliseconds. */
const MARGIN = 100

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`this does not hold: ${what}`)
}

function kidOf(accessToken: string): string {
  return decodeProtectedHeader(accessToken).kid ?? ''
}

function short(kid: string): string {
  return `${kid.slice(0, 8)}…`
}
