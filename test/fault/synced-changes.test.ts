import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { socketAddress } from '../../src/embedded-postgres/socket.ts'
import { administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'

const CHANGES = 50

let server: Keyturn
let database: pg.Client
let closeAddress: () => void

beforeAll(async () => {
  server = await startKeyturn({ dataDir: await temporaryFolder() })
  const { url, close } = socketAddress(join(server.dataDir, 'postgres'))
  closeAddress = close
  database = new pg.Client({ connectionString: url })
  await database.connect()
})
afterAll(async () => {
  await database?.end()
  closeAddress?.()
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
})

/** Ends the connections of Keyturn: each reports its part of the statistics at its end. */
async function endConnections(): Promise<void> {
  await database.query(
    'select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid()',
  )
}

/** How often the write-ahead log has been synced. */
async function countSyncs(): Promise<number> {
  const { rows } = await database.query<{ syncs: string }>(
    `select sum(fsyncs) as syncs from pg_stat_io where object = 'wal' and context = 'normal'`,
  )
  return Number(rows[0]!.syncs)
}

describe('an acknowledged change in the embedded database', () => {
  it('has been synced to the disk, each by itself', async () => {
    const { projects } = await administrationOf(server)
    await endConnections()
    const before = await countSyncs()
    const { project } = await eventually(() => projects.createProject({ name: 'acme' }))
    const projectId = project!.projectId
    for (let role = 1; role < CHANGES; role += 1) await projects.addProjectRole({ projectId, role: `role-${role}` })
    await endConnections()
    // The process that syncs in the background may have done it for some, and reports five times a second.
    await eventually(async () => expect(await countSyncs()).toBeGreaterThanOrEqual(before + CHANGES))
  })
})
