/**
 * A server on the embedded database, which is its child process. What breaks while it serves is in `test/api/embedded-database.test.ts`,
 * what happens with workers in `test/fault/embedded-database.test.ts`.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from '@jest/globals'
import { type Keyturn, removeFolder, startKeyturn, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { isRunning } from '../support/proc.ts'
import { processesOn } from '../support/server-processes.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { requestToken, webKeyClient } from '../support/web-key-client.ts'

let dataDir: string
let running: { stop(): Promise<unknown> } | undefined
beforeEach(async () => {
  dataDir = await temporaryFolder()
})
afterEach(async () => {
  await running?.stop()
  await removeFolder(dataDir)
})

/** The port, and with it the address in the file, may be another one than at the first start. */
async function clientOf(server: Keyturn) {
  const token_endpoint = `${server.listenUrl}/oauth/v2/token`
  return webKeyClient(server.listenUrl, await requestToken({ ...(await server.admin()), token_endpoint }))
}

itUnless(NOT_LINUX)(
  'finishes what is in flight after Ctrl-C, which does not reach PostgreSQL, and stops that cleanly',
  async () => {
    const server = await startKeyturn({ dataDir, leadsGroup: true })
    running = { stop: () => server.kill() }
    await (await clientOf(server)).createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    const processes = await processesOn(join(dataDir, 'postgres'))
    expect(processes).not.toEqual([])
    // As a terminal does, to every process of the group.
    process.kill(-server.process.pid!, 'SIGINT')
    await once(server.process, 'close')
    running = undefined
    expect(server.process.exitCode).toBe(0)
    expect(processes.filter(({ pid }) => isRunning(pid))).toEqual([])
    expect(server.output().stderr).not.toContain('embedded PostgreSQL')

    const next = await startKeyturnInProcess({ dataDir })
    running = next
    expect((await (await clientOf(next)).listWebKeys({})).webKeys).toHaveLength(2)
    expect(next.output().stderr).not.toContain('embedded PostgreSQL')
  },
)
