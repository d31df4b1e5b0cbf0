/**
 * The long form of `test/process/server-process.test.ts`: servers that stop under load, and what a first start prints.
 */
import { once } from 'node:events'
import { afterEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { type KeyturnProcess, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { askOnce, TestClients, tokenRequestTo, untilClosed } from '../support/stopping-server.ts'

const BUSY_CLIENTS = 16

const clients = new TestClients()
let server: KeyturnProcess | undefined
afterEach(async () => {
  clients.close()
  await server?.kill()
  if (server !== undefined) await removeFolder(server.dataDir)
  server = undefined
})

async function start(options?: Parameters<typeof startKeyturn>[0]): Promise<KeyturnProcess> {
  server = await startKeyturn(options)
  return server
}

describe('a server process', () => {
  it.each([
    ['alone', []],
    ['with two workers', ['--workers', '2']],
  ])('%s, loses nothing of clients that ask all the time and go when an answer says so', async (_name, args) => {
    const running = await start({
      env: {
        KEYTURN_DATABASE_URL: await newPostgresDatabase(),
        KEYTURN_MASTER_KEYS: generateMasterKey(),
        KEYTURN_DRAIN_SECONDS: '3',
      },
      args,
    })
    const request = await tokenRequestTo(running)
    const load = clients.keepAsking(request, BUSY_CLIENTS)
    await eventually(() => expect(load.answers()).toBeGreaterThan(200))
    const stopped = running.stop()
    await load.sentAway
    // Those that do not know of another place come back, and are served too.
    await Promise.all(Array.from({ length: BUSY_CLIENTS }, () => askOnce(request)))
    expect(load.failures).toEqual([])
    expect(await stopped).toBe(0)
  })

  it('cuts off a client that never finishes its request, and ends with exit code 0', async () => {
    const running = await start()
    const begun = await clients.beginRequest(await tokenRequestTo(running))
    const end = once(begun, 'response').then(
      () => 'answered',
      () => 'cut off',
    )
    expect(await running.stop()).toBe(0)
    expect(await end).toBe('cut off')
  })

  it('that waits for a client ends at once when it gets SIGTERM twice', async () => {
    const running = await start()
    const begun = await clients.beginRequest(await tokenRequestTo(running))
    begun.on('error', () => {})

    const exited = once(running.process, 'exit')
    running.process.kill('SIGTERM')
    await untilClosed(running)
    running.process.kill('SIGTERM')
    expect(await exited).toEqual([null, 'SIGTERM'])
  })

  it('prints nothing of the embedded database that it makes', async () => {
    const running = await start({ makesDatabase: true })
    await running.stop()
    const { stdout, stderr } = running.output()
    expect(stdout.trimEnd().split('\n')).toEqual([
      `Keyturn listens on ${running.listenUrl} (base URL ${running.baseUrl}).`,
      expect.stringMatching(/^The administrator's credentials were written to .+\. Keep that file safe\.$/),
      expect.stringMatching(/^Next: npx keyturn keys list --credentials .+$/),
    ])
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ level: 'info' })
  })
})
