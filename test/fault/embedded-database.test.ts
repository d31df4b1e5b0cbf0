/**
 * The end of a server on the embedded database that is killed, and one that is not started by root.
 */
import { once } from 'node:events'
import { chown, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { canEnter } from '../../src/embedded-postgres/reachable-programs.ts'
import { eventually } from '../support/eventually.ts'
import {
  collect,
  type KeyturnProcess,
  removeFolder,
  spawnKeyturn,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { childrenOf, isRunning } from '../support/proc.ts'
import { processesOn, serverAmong } from '../support/server-processes.ts'
import { describeUnless, itUnless, NOT_LINUX, NOT_ROOT } from '../support/unless.ts'

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
const statusOf = async ({ baseUrl }: KeyturnProcess, path: string) => (await fetch(`${baseUrl}${path}`)).status

describeUnless(NOT_LINUX)('a server on the embedded database', () => {
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
