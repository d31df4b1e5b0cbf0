import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Code } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { AuditService } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Database, openDatabase } from '../../src/storage/postgres/database.ts'
import { type Administration, administrationWith, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { createRecordingLog } from '../support/log.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { allEventsReadable } from '../support/readable-events.ts'
import { clientOf, TRANSPORTS, type TransportName } from '../support/web-key-client.ts'
import { AuditFollower } from './audit-follower.ts'

const GET = 'Connect with GET over HTTP/1.1'

let postgres: TestPostgres
let url: string
let database: Database
let env: Record<string, string>
let a: Keyturn
let b: Keyturn
let administration: Administration
let onB: Administration
const followers: AuditFollower[] = []

beforeAll(async () => {
  postgres = sharedPostgres()
  url = await postgres.createMigratedDatabase()
  database = await openDatabase({ url, log: createRecordingLog() })
  env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey() }
  a = await startKeyturnInProcess({ env })
  b = await startKeyturnInProcess({ env })
  const token = await requestToken(await a.admin())
  administration = administrationWith(a, token)
  onB = administrationWith(b, token)
})

afterEach(async () => {
  await Promise.all(followers.splice(0).map((follower) => follower.stop()))
})

afterAll(async () => {
  await removeServers(a, b)
  await database?.close()
  await postgres?.stop()
})

/** A follower that has begun, from now on unless the request says otherwise. */
async function follow(
  client = onB.audit,
  request: ConstructorParameters<typeof AuditFollower>[1] = {},
): Promise<AuditFollower> {
  await allEventsReadable(database)
  const follower = new AuditFollower(client, request)
  followers.push(follower)
  await follower.begun
  expect(follower.responses).toBeGreaterThan(0)
  return follower
}

const names = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)

async function makeProjects(count: number, prefix: string): Promise<string[]> {
  const ids: string[] = []
  for (const name of names(count, prefix))
    ids.push((await administration.projects.createProject({ name })).project?.projectId ?? '')
  return ids
}

describe('following the audit trail', () => {
  it.each((Object.keys(TRANSPORTS) as TransportName[]).filter((name) => name !== GET))(
    'at one replica shows what is done at another, in order, over %s',
    async (transport) => {
      const follower = await follow(clientOf(AuditService, b.listenUrl, { token: administration.token, transport }))
      const prefix = transport.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
      const [projectId = ''] = await makeProjects(1, prefix)
      await administration.projects.addProjectRole({ projectId, role: 'reader' })
      await administration.projects.deleteProject({ projectId })
      await eventually(() => expect(follower.actions).toEqual(['CreateProject', 'AddProjectRole', 'DeleteProject']))
    },
  )

  it('goes on after a position without a gap and without a repetition, at another replica', async () => {
    const first = await follow()
    await makeProjects(3, 'gap-before')
    await eventually(() => expect(first.events).toHaveLength(3))
    await first.stop()
    await makeProjects(120, 'gap-between')
    const second = await follow(administration.audit, { afterPosition: first.position })
    await makeProjects(2, 'gap-after')
    await eventually(() => expect(second.events).toHaveLength(122))
    expect(new Set([...first.events, ...second.events]).size).toBe(125)
  })

  it('begins at a date, and shows what matches', async () => {
    const from = new Date()
    const [first = '', second = ''] = await makeProjects(2, 'dated')
    await administration.projects.addProjectRole({ projectId: second, role: 'reader' })
    await administration.projects.addProjectRole({ projectId: first, role: 'reader' })
    const follower = await follow(onB.audit, {
      fromDate: timestampFromDate(new Date(from.getTime() - 1000)),
      resource: `projects/${second}`,
    })
    await eventually(() => expect(follower.actions).toEqual(['CreateProject', 'AddProjectRole']))
    await administration.projects.deleteProject({ projectId: first })
    await administration.projects.deleteProject({ projectId: second })
    await eventually(() => expect(follower.actions).toEqual(['CreateProject', 'AddProjectRole', 'DeleteProject']))
  })

  it('ends when the right of the caller is lost, at another replica than its own', async () => {
    const { users } = administration
    const [projectId = ''] = await makeProjects(1, 'rights')
    const { serviceUser } = await users.createServiceUser({ projectId, name: 'watcher' })
    const userId = serviceUser?.userId ?? ''
    await users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
    const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
    const { token } = await users.createPersonalAccessToken({ userId, expirationDate })
    const follower = await follow(administrationWith(b, token).audit)
    await users.setInstanceRoles({ userId, instanceRoles: [] })
    const error = await follower.ended
    expect(error?.code).toBe(Code.PermissionDenied)
    const { events } = await administration.audit.listAuditEvents({ resource: `users/${userId}` })
    const [loss] = events.filter(({ action }) => action.endsWith('/SetInstanceRoles'))
    expect(follower.events).not.toContain(loss!.eventId)
  })

  it('is possible ten times for a caller at a replica, and again when one has ended', async () => {
    const ten = await Promise.all(names(10, 'stream').map(() => follow()))
    const eleventh = new AuditFollower(onB.audit).ended.then((error) => Promise.reject(error))
    expect(await refusalOf(eleventh)).toMatchObject({
      code: 'ResourceExhausted',
      reason: 'AUDIT_STREAM_LIMIT_REACHED',
    })
    await ten[0]!.stop()
    // The server may see later than the client that the stream has ended.
    await eventually(() => follow())
  })

  it('ends with a status to go on elsewhere when the server stops', async () => {
    // Refusals of the tests before may still be written: each is written after its response.
    const createdIn = ({ actions }: AuditFollower) => actions.filter((action) => action === 'CreateProject')
    const other = await startKeyturnInProcess({ env })
    const follower = await follow(administrationWith(other, administration.token).audit)
    await makeProjects(1, 'stopping')
    await eventually(() => expect(createdIn(follower)).toHaveLength(1))
    await other.stop()
    await removeFolder(other.dataDir)
    expect((await follower.ended)?.code).toBe(Code.Unavailable)
    const next = await follow(onB.audit, { afterPosition: follower.position })
    await makeProjects(1, 'stopped')
    await eventually(() => expect(createdIn(next)).toHaveLength(1))
  })
})
