import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { type KeyturnProcess, removeFolder, runKeyturn, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { freePort } from '../support/postgres.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const

let dataDir: string
let port: number
const servers: KeyturnProcess[] = []

beforeEach(async () => {
  dataDir = await temporaryFolder()
  // The same one for each start: the port is part of the base URL, and with it of the tokens.
  port = await freePort()
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.kill()
  await removeFolder(dataDir)
})

async function start(): Promise<KeyturnProcess> {
  const server = await startKeyturn({
    dataDir,
    env: { KEYTURN_LISTEN: `127.0.0.1:${port}`, KEYTURN_MAX_WEB_KEYS: '1000', KEYTURN_ACTIVATION_GUARD: 'off' },
  })
  servers.push(server)
  return server
}

async function login(server: KeyturnProcess) {
  return webKeyClient(server.baseUrl, await requestToken(await server.admin()))
}

async function keySetOf({ baseUrl }: KeyturnProcess) {
  return await (await fetch(`${baseUrl}/.well-known/openid-configuration/jwks`)).json()
}

async function verify({ baseUrl }: KeyturnProcess, token: string) {
  const keySet = createRemoteJWKSet(new URL('/.well-known/openid-configuration/jwks', baseUrl))
  return await jwtVerify(token, keySet, { issuer: baseUrl, audience: baseUrl, typ: 'at+jwt' })
}

describe('a server that was killed', () => {
  it.each(['creation', 'activation'])(
    'at the moment it acknowledged the %s of a key, among many others, has every change that it had acknowledged [Spec §3]',
    async (deadly) => {
      const acknowledged = new Set<string>()
      let activated: string | undefined
      let activating: string | undefined

      for (let round = 1; ; round += 1) {
        const server = await start()
        const client = await login(server)
        const { webKeys } = await client.listWebKeys({})
        expect(webKeys.map(({ keyId }) => keyId)).toEqual(expect.arrayContaining([...acknowledged]))
        const active = webKeys.filter(({ state }) => state === State.ACTIVE).map(({ keyId }) => keyId)
        expect(active).toHaveLength(1)
        // The last activation that was answered holds, unless the one after it was done and its answer got lost.
        if (round > 1) expect([activated, activating]).toContain(active[0])

        if (round === 4) return

        const killAfter = (change: string) => {
          if (change === deadly && acknowledged.size >= round * 15) server.process.kill('SIGKILL')
        }
        const create = async () => {
          const { details } = await client.createWebKey(ED25519)
          acknowledged.add(details!.keyId)
          killAfter('creation')
          return details!.keyId
        }
        // Each stream goes on until the server is gone.
        const creating = async (): Promise<never> => {
          for (;;) await create()
        }
        const rotating = async (): Promise<never> => {
          for (;;) {
            activating = await create()
            await client.activateWebKey({ keyId: activating })
            activated = activating
            killAfter('activation')
          }
        }
        await Promise.allSettled([creating(), creating(), creating(), rotating()])
        await server.kill()
      }
    },
  )

  it('verifies the tokens that it issued, and issues new ones with the same key', async () => {
    const before = await start()
    const token = await requestToken(await before.admin())
    await before.kill()

    const after = await start()
    await verify(after, token)
    await webKeyClient(after.baseUrl, token).listWebKeys({})
    const { kid } = decodeProtectedHeader(await requestToken(await after.admin()))
    expect(kid).toBe(decodeProtectedHeader(token).kid)
  })
})

describe('a server that was told to stop', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'with %s ends with exit code 0 and serves the same keys and tokens when it is started again',
    async (signal) => {
      const before = await start()
      const client = await login(before)
      const { details } = await client.createWebKey(ED25519)
      await client.activateWebKey({ keyId: details!.keyId })
      const token = await requestToken(await before.admin())
      const keySet = await keySetOf(before)
      const { webKeys } = await client.listWebKeys({})

      await before.stop(signal)
      expect({ exitCode: before.process.exitCode, signal: before.process.signalCode }).toEqual({
        exitCode: 0,
        signal: null,
      })

      const after = await start()
      expect(await keySetOf(after)).toEqual(keySet)
      expect((await (await login(after)).listWebKeys({})).webKeys).toEqual(webKeys)
      expect((await verify(after, token)).protectedHeader.kid).toBe(details!.keyId)
      expect(after.output().stdout).toContain('The instance was set up before')
    },
  )
})

describe('a second process', () => {
  it('on the same data directory is refused, and the first goes on serving', async () => {
    const first = await start()
    const { code, stdout, stderr } = await runKeyturn(['serve', '--listen', '127.0.0.1:0'], {
      KEYTURN_DATA_DIR: dataDir,
      KEYTURN_METRICS_LISTEN: 'off',
    })
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `keyturn: the data directory ${dataDir} is in use by another process: stop that process or choose another directory\n`,
    })
    const migration = await runKeyturn(['migrate'], { KEYTURN_DATA_DIR: dataDir })
    expect(migration).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use by another process') })

    await (await login(first)).createWebKey(ED25519)
    await verify(first, await requestToken(await first.admin()))
  })

  it('on the same port is refused before it touches anything, and the first goes on serving', async () => {
    const first = await start()
    const other = await temporaryFolder()
    try {
      const { code, stdout, stderr } = await runKeyturn(['serve'], {
        KEYTURN_LISTEN: `127.0.0.1:${port}`,
        KEYTURN_DATA_DIR: `${other}/data`,
        KEYTURN_METRICS_LISTEN: 'off',
      })
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^keyturn: [^\n]*\bin use\b[^\n]*\n$/)
      expect(stderr).toContain(`127.0.0.1:${port}`)
      expect(stderr).toContain('choose another with --listen')
      await verify(first, await requestToken(await first.admin()))
    } finally {
      await removeFolder(other)
    }
  })
})
