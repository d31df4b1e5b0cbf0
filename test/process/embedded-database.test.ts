/**
 * A server on the embedded database: PostgreSQL is its child, and may break where nothing else does.
 */
import { once } from 'node:events'
import { chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { canEnter } from '../../src/embedded-postgres/reachable-programs.ts'
import { eventually } from '../support/eventually.ts'
import {
  collect,
  type KeyturnProcess,
  removeFolder,
  runKeyturn,
  spawnKeyturn,
  startKeyturn,
  temporaryFolder,
} from '../support/keyturn.ts'
import { childrenOf, isRunning } from '../support/proc.ts'
import { describeUnless, itUnless, NOT_LINUX, NOT_ROOT } from '../support/unless.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'
import { processesOn, serverAmong } from './embedded-postgres/server-processes.ts'

const ED25519 = { config: { config: { case: 'ed25519', value: {} } } } as const

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
/** The port, and with it the address in the file, may be another one than at the first start. */
const clientOf = async (keyturn: KeyturnProcess) => webKeyClient(keyturn.baseUrl, await tokenFrom(keyturn))
const tokenFrom = async (keyturn: KeyturnProcess) =>
  await requestToken({ ...(await keyturn.admin()), token_endpoint: `${keyturn.baseUrl}/oauth/v2/token` })

describeUnless(NOT_LINUX)('a server on the embedded database', () => {
  it('serves from memory while PostgreSQL is away, and changes keys again when it is back', async () => {
    server = await startKeyturn({ dataDir })
    const client = await clientOf(server)
    await client.createWebKey(ED25519)
    const postgres = serverAmong(await processesOn(database()))!
    // It lets nobody in any more, and those who were in are out.
    process.kill(postgres, 'SIGSTOP')
    for (const pid of childrenOf(postgres)) process.kill(pid, 'SIGKILL')
    const refused = await client.createWebKey(ED25519).catch(ConnectError.from)
    // Before anything is expected: one that is stopped like this would outlive a test that fails.
    process.kill(postgres, 'SIGKILL')
    expect(refused).toMatchObject({ code: Code.Unavailable })
    await tokenFrom(server)
    expect(await statusOf(server, '/readyz')).toBe(200)
    await eventually(() => client.createWebKey(ED25519))
    expect(serverAmong(await processesOn(database()))).not.toBe(postgres)
    expect(server.output().stderr).toContain('the embedded PostgreSQL has ended and will be started again')
  })

  it('finishes what is in flight after Ctrl-C, which does not reach PostgreSQL, and stops that cleanly', async () => {
    server = await startKeyturn({ dataDir, leadsGroup: true })
    await (await clientOf(server)).createWebKey(ED25519)
    const processes = await processesOn(database())
    // As a terminal does, to every process of the group.
    process.kill(-server.process.pid!, 'SIGINT')
    await once(server.process, 'close')
    expect(server.process.exitCode).toBe(0)
    expect(processes.filter(({ pid }) => isRunning(pid))).toEqual([])
    expect(server.output().stderr).not.toContain('embedded PostgreSQL')

    server = await startKeyturn({ dataDir })
    expect((await (await clientOf(server)).listWebKeys({})).webKeys).toHaveLength(2)
    expect(server.output().stderr).not.toContain('embedded PostgreSQL')
  })

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

describe('a data directory of an earlier version, with PGlite', () => {
  it.each(['serve', 'migrate', 'master-key status'])(
    'is refused by "keyturn %s", which leaves it as it is',
    async (command) => {
      await mkdir(join(dataDir, 'database'))
      await writeFile(join(dataDir, 'database', 'PG_VERSION'), '18\n')
      const env = { KEYTURN_DATA_DIR: dataDir, KEYTURN_LISTEN: '127.0.0.1:0', KEYTURN_METRICS_LISTEN: 'off' }
      const { code, stderr } = await runKeyturn(command.split(' '), env)
      expect(code).toBe(1)
      expect(stderr).toContain(
        `move the data directory ${dataDir} aside, with its master.key, or choose another directory`,
      )
      expect((await readdir(dataDir)).filter((name) => name !== 'lock')).toEqual(['database'])
    },
  )
})
