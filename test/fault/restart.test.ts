/**
 * A server that starts again on its data directory, after it was killed and after it was stopped; and a second process beside it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import {
  type KeyturnProcess,
  removeFolder,
  runKeyturn,
  runKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { ED25519, expectSameAfterStop, login, RestartedServer, verify } from '../support/restarted-server.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'
import { expectChangesToSurvive } from './killed-server.ts'

let site: RestartedServer
/** What runs, in all tests of the file. */
let server: KeyturnProcess
beforeAll(async () => {
  site = await RestartedServer.create()
  server = await site.start()
})
afterAll(() => site?.remove())

describe('a second process', () => {
  it('on the same data directory is refused, and the first goes on serving', async () => {
    const { dataDir } = site
    const { code, stdout, stderr } = await runKeyturn(['serve', '--listen', '127.0.0.1:0'], {
      KEYTURN_DATA_DIR: dataDir,
      KEYTURN_METRICS_LISTEN: 'off',
    })
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `keyturn: the data directory ${dataDir} is in use by another process: stop that process or choose another directory\n`,
    })
    const migration = await runKeyturnInProcess(['migrate'], { KEYTURN_DATA_DIR: dataDir })
    expect(migration).toMatchObject({ code: 1, stderr: expect.stringContaining('is in use by another process') })

    await (await login(server)).createWebKey(ED25519)
    await verify(server, await requestToken(await server.admin()))
  })

  it('on the same port is refused before it touches anything, and the first goes on serving', async () => {
    const other = await temporaryFolder()
    try {
      const { code, stdout, stderr } = await runKeyturn(['serve'], {
        KEYTURN_LISTEN: `127.0.0.1:${site.port}`,
        KEYTURN_DATA_DIR: `${other}/data`,
        KEYTURN_METRICS_LISTEN: 'off',
      })
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^keyturn: [^\n]*\bin use\b[^\n]*\n$/)
      expect(stderr).toContain(`127.0.0.1:${site.port}`)
      expect(stderr).toContain('choose another with --listen')
      await verify(server, await requestToken(await server.admin()))
    } finally {
      await removeFolder(other)
    }
  })
})

describe('a server that was killed', () => {
  it('at the moment it acknowledged a change has every one that it had acknowledged, and verifies its tokens [Spec §3]', async () => {
    const token = await requestToken(await server.admin())
    server = await expectChangesToSurvive(server, { deadly: 'activation', rounds: 1, start: site.start })

    await verify(server, token)
    const { webKeys } = await webKeyClient(server.baseUrl, token).listWebKeys({})
    const { kid } = decodeProtectedHeader(await requestToken(await server.admin()))
    expect(webKeys.filter(({ state }) => state === State.ACTIVE).map(({ keyId }) => keyId)).toEqual([kid])
  })
})

describe('a server that was told to stop', () => {
  it('ends with exit code 0 and serves the same keys and tokens when it is started again', async () => {
    server = await expectSameAfterStop(server, { signal: 'SIGTERM', start: site.start })
  })
})
