/**
 * The long form of `test/process/restart.test.ts`: a server that is killed again and again at the moment it acknowledges a change,
 * and one that is stopped with each signal.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { expectChangesToSurvive } from '../support/killed-server.ts'
import { expectSameAfterStop, RestartedServer, verify } from '../support/restarted-server.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

let site: RestartedServer
beforeEach(async () => {
  site = await RestartedServer.create()
})
afterEach(() => site.remove())

describe('a server that was killed', () => {
  it.each(['creation', 'activation'] as const)(
    'at the moment it acknowledged the %s of a key, among many others, has every change that it had acknowledged [Spec §3]',
    async (deadly) => {
      await expectChangesToSurvive(await site.start(), { deadly, rounds: 3, start: site.start })
    },
  )

  it('verifies the tokens that it issued, and issues new ones with the same key', async () => {
    const before = await site.start()
    const token = await requestToken(await before.admin())
    await before.kill()

    const after = await site.start()
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
      await expectSameAfterStop(await site.start(), { signal, start: site.start })
    },
  )
})
