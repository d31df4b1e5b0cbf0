/**
 * A server that starts again on its data directory, after it was killed and after it was stopped; and a second process beside it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { State } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { type KeyturnProcess, requestToken } from '../support/keyturn.ts'
import { expectSameAfterStop, RestartedServer, verify } from '../support/restarted-server.ts'
import { webKeyClient } from '../support/web-key-client.ts'
import { expectChangesToSurvive } from './killed-server.ts'

let site: RestartedServer
/** What runs, in all tests of the file. */
let server: KeyturnProcess
beforeAll(async () => {
  site = await RestartedServer.create()
  server = await site.start()
})
afterAll(() => site?.remove())

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
