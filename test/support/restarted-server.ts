/**
 * A server that starts again and again on one data directory and one port, which is part of its base URL and with it of its
 * tokens.
 */
import { expect } from '@jest/globals'
import { createRemoteJWKSet, type JWTVerifyResult, jwtVerify } from 'jose'
import { freePort } from './free-port.ts'
import { type KeyturnProcess, removeFolder, requestToken, startKeyturn, temporaryFolder } from './keyturn.ts'
import { webKeyClient } from './web-key-client.ts'

/** The kind of key that is made fastest. */
export const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const

const KEY_SET = '/.well-known/openid-configuration/jwks'

export class RestartedServer {
  readonly dataDir: string
  readonly port: number
  readonly #started: KeyturnProcess[] = []

  private constructor(dataDir: string, port: number) {
    this.dataDir = dataDir
    this.port = port
  }

  static async create(): Promise<RestartedServer> {
    return new RestartedServer(await temporaryFolder(), await freePort())
  }

  /** Starts it. The one before must have ended. */
  readonly start = async (): Promise<KeyturnProcess> => {
    const { dataDir, port } = this
    const server = await startKeyturn({
      dataDir,
      env: { KEYTURN_LISTEN: `127.0.0.1:${port}`, KEYTURN_MAX_WEB_KEYS: '1000', KEYTURN_ACTIVATION_GUARD: 'off' },
    })
    this.#started.push(server)
    return server
  }

  /** Ends what runs, and removes its data. */
  async remove(): Promise<void> {
    for (const server of this.#started) await server.kill()
    await removeFolder(this.dataDir)
  }
}

/** The published key set. */
async function keySetOf({ baseUrl }: KeyturnProcess): Promise<unknown> {
  return await (await fetch(`${baseUrl}${KEY_SET}`)).json()
}

/** Verifies an access token like a resource server. */
export async function verify({ baseUrl }: KeyturnProcess, token: string): Promise<JWTVerifyResult> {
  const keySet = createRemoteJWKSet(new URL(KEY_SET, baseUrl))
  return await jwtVerify(token, keySet, { issuer: baseUrl, audience: baseUrl, typ: 'at+jwt' })
}

/** A client of the API, as the administrator. */
export async function login(server: KeyturnProcess) {
  return webKeyClient(server.baseUrl, await requestToken(await server.admin()))
}

/** Activates a new key, stops the server and starts it again, and expects the same keys and tokens. @returns The new one. */
export async function expectSameAfterStop(
  before: KeyturnProcess,
  { signal, start }: { readonly signal: 'SIGTERM' | 'SIGINT'; readonly start: () => Promise<KeyturnProcess> },
): Promise<KeyturnProcess> {
  const client = await login(before)
  const { details } = await client.createWebKey(ED25519)
  await client.activateWebKey({ keyId: details!.keyId })
  const token = await requestToken(await before.admin())
  const keySet = await keySetOf(before)
  const { webKeys } = await client.listWebKeys({})

  await before.stop(signal)
  const { exitCode, signalCode } = before.process
  expect({ exitCode, signalCode }).toEqual({ exitCode: 0, signalCode: null })

  const after = await start()
  expect(await keySetOf(after)).toEqual(keySet)
  expect((await (await login(after)).listWebKeys({})).webKeys).toEqual(webKeys)
  expect((await verify(after, token)).protectedHeader.kid).toBe(details!.keyId)
  expect(after.output().stdout).toContain('The instance was set up before')
  return after
}
