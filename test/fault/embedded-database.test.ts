/**
 * Servers on the embedded database with workers, and one that root has not started.
 */
import { once } from 'node:events'
import { chown, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { canEnter } from '../../src/embedded-postgres/programs.ts'
import { eventually } from '../support/eventually.ts'
import {
  collect,
  type KeyturnProcess,
  removeFolder,
  requestToken,
  spawnKeyturn,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { childrenOf, isRunning } from '../support/proc.ts'
import { processesOn, serverAmong } from '../support/server-processes.ts'
import { describeUnless, itUnless, NOT_LINUX, NOT_ROOT } from '../support/unless.ts'
import { webKeyClient } from '../support/web-key-client.ts'

let dataDir: string
let server: KeyturnProcess | undefined
beforeEach(async () => {
  dataDir = await temporaryFolder()
})
afterEach(async () => {
  await server?.kill()
  server = undefined
  await removeFolder(dataDir)
})

const database = () => join(dataDir, 'postgres')
const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const
/** The port, and with it the address in the file, may be another one than at the first start. */
async function clientOf({ baseUrl, admin }: KeyturnProcess) {
  const token_endpoint = `${baseUrl}/oauth/v2/token`
  return webKeyClient(baseUrl, await requestToken({ ...(await admin()), token_endpoint }))
}
const statusOf = async ({ baseUrl }: KeyturnProcess, path: string) => (await fetch(`${baseUrl}${path}`)).status

describeUnless(NOT_LINUX)('a server on the embedded database', () => {
  it('has one PostgreSQL for all its workers, which stays when one of them dies and ends with the last', async () => {
    const env = { KEYTURN_WORKERS: '2', KEYTURN_DATABASE_MAX_CONNECTIONS: '4' }
    server = await startKeyturn({ dataDir, env })
    const { pid = 0 } = server.process
    const workers = () => childrenOf(pid).filter((child) => !shells.includes(child))
    const shells = (await processesOn(database())).map((found) => found.pid)
    await eventually(async () => expect(workers()).toHaveLength(2))
    const postgres = serverAmong(await processesOn(database()))!
    const [first = 0] = workers()
    process.kill(first, 'SIGKILL')
    await eventually(async () => {
      expect(workers()).toHaveLength(2)
      expect(workers()).not.toContain(first)
    })
    const client = await eventually(() => clientOf(server as KeyturnProcess))
    for (let i = 0; i < 4; i += 1) await client.createWebKey(ED25519)
    expect(serverAmong(await processesOn(database()))).toBe(postgres)
    expect(await server.stop()).toBe(0)
    expect(isRunning(postgres)).toBe(false)
  })

  it('leaves nothing that runs when its first process is killed, with workers as well', async () => {
    server = await startKeyturn({ dataDir, env: { KEYTURN_WORKERS: '2' } })
    const processes = [...(await processesOn(database())).map(({ pid }) => pid), ...childrenOf(server.process.pid!)]
    await server.kill()
    await eventually(() => expect(processes.filter(isRunning)).toEqual([]))
    server = await startKeyturn({ dataDir, env: { KEYTURN_WORKERS: '2' } })
    expect(await statusOf(server, '/readyz')).toBe(200)
  })
})

/** Files that this user can read: PostgreSQL then runs where npm has installed it. */
const ORDINARY = { name: 'nobody', uid: 65534, gid: 65534 }
const NOT_FOR_ALL =
  NOT_ROOT ?? ((await canEnter(ORDINARY, import.meta.dirname)) ? undefined : 'only this user can read the checkout')

itUnless(NOT_FOR_ALL)(
  'a server that an ordinary user starts works with programs that the user can only read',
  async () => {
    await chown(dataDir, ORDINARY.uid, ORDINARY.gid)
    const env = { KEYTURN_DATA_DIR: dataDir, KEYTURN_LISTEN: '127.0.0.1:0', KEYTURN_METRICS_LISTEN: 'off' }
    const child = spawnKeyturn(['serve'], env, { uid: ORDINARY.uid, gid: ORDINARY.gid })
    try {
      const output = collect(child)
      await eventually(() => expect(output.stdout).toContain('Keyturn listens on'))
      const postgres = serverAmong(await processesOn(database()))!
      expect((await stat(`/proc/${postgres}`)).uid).toBe(ORDINARY.uid)
      child.kill('SIGTERM')
      await once(child, 'close')
      expect(child.exitCode).toBe(0)
    } finally {
      child.kill('SIGKILL')
    }
  },
)
