/**
 * A server on the embedded database: PostgreSQL is its child, and may break where nothing else does.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type KeyturnProcess, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { childrenOf, isRunning } from '../support/proc.ts'
import { processesOn, serverAmong } from '../support/server-processes.ts'
import { describeUnless, NOT_LINUX } from '../support/unless.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

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
/** The port, and with it the address in the file, may be another one than at the first start. */
const clientOf = async (keyturn: KeyturnProcess) => webKeyClient(keyturn.baseUrl, await tokenFrom(keyturn))
const tokenFrom = async (keyturn: KeyturnProcess) =>
  await requestToken({ ...(await keyturn.admin()), token_endpoint: `${keyturn.baseUrl}/oauth/v2/token` })

describeUnless(NOT_LINUX)('a server on the embedded database', () => {
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
})
