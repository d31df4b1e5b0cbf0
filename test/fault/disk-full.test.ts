import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { ProjectService } from '../../gen/iam/project/v2/project_service_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { eventually } from '../support/eventually.ts'
import { type KeyturnProcess, requestToken, runKeyturn, startKeyturn } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './small-disk.ts'

const DISK_MEGABYTES = 160

describeUnless(whyNoSmallDisk())('a full disk under the embedded database', () => {
  let disk: SmallDisk
  let dataDir: string
  let server: KeyturnProcess | undefined

  beforeEach(() => {
    disk = mountSmallDisk(DISK_MEGABYTES)
    dataDir = join(disk.folder, 'data')
  })
  afterEach(async () => {
    await server?.kill()
    server = undefined
    disk.unmount()
  })

  async function start() {
    server = await startKeyturn({ dataDir })
    // The port, and with it the address in the file, may be another one than at the first start.
    const admin = { ...(await server.admin()), token_endpoint: `${server.baseUrl}/oauth/v2/token` }
    const { baseUrl } = server
    const token = await requestToken(admin)
    const authenticate: Interceptor = (next) => (req) => {
      req.header.set('authorization', `Bearer ${token}`)
      return next(req)
    }
    const transport = createConnectTransport({
      baseUrl: server.baseUrl,
      httpVersion: '1.1',
      interceptors: [authenticate],
    })
    const client = createClient(WebKeyService, transport)
    const projects = createClient(ProjectService, transport)
    const roles = async (projectId: string) => {
      const all: string[] = []
      for (let pageToken = ''; ; ) {
        const page = await projects.listProjectRoles({ projectId, pageSize: 1000, pageToken })
        all.push(...page.roles)
        pageToken = page.nextPageToken
        if (pageToken === '') return all.sort()
      }
    }
    const keyIds = async () => (await client.listWebKeys({})).webKeys.map((key) => key.keyId).sort()
    const published = async () => {
      const response = await fetch(new URL('/.well-known/openid-configuration/jwks', baseUrl))
      return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid).sort()
    }
    return { server, admin, projects, roles, keyIds, published }
  }

  const reasonOf = (thrown: unknown) => {
    const error = ConnectError.from(thrown)
    return { code: error.code, reason: error.findDetails(ErrorInfoSchema)[0]?.reason }
  }

  /** Adds roles until one is refused, and returns why. Those before it are kept in `acknowledged`. */
  async function addRolesUntilRefused(projects: Client<typeof ProjectService>, projectId: string, names: Set<string>) {
    const prefix = names.size
    for (let number = 0; number < 5_000; number += 1) {
      const role = `role-${prefix}-${number}-${'x'.repeat(60)}`
      try {
        await projects.addProjectRole({ projectId, role })
      } catch (error) {
        return reasonOf(error)
      }
      names.add(role)
    }
    throw new Error('nothing was refused')
  }

  it('refuses changes with "unavailable", serves from memory, and loses nothing that was acknowledged', async () => {
    const running = await start()
    const { admin, projects } = running
    const { project } = await projects.createProject({ name: 'acme' })
    const projectId = project?.projectId ?? ''
    const acknowledged = new Set<string>()
    const unavailable = { code: Code.Unavailable, reason: 'STORAGE_UNAVAILABLE' }

    // Roles and their audit events grow the tables, so sooner or later one needs a block that there is no room for.
    disk.fill()
    expect(await addRolesUntilRefused(projects, projectId, acknowledged)).toEqual(unavailable)
    for (let request = 0; request < 20; request += 1) await requestToken(admin)
    expect(await running.published()).toHaveLength(1)
    expect((await fetch(new URL('/readyz', running.server.baseUrl))).status).toBe(200)
    expect(await running.roles(projectId)).toEqual([...acknowledged].toSorted())

    disk.clear()
    await eventually(() => projects.addProjectRole({ projectId, role: 'after' }))
    acknowledged.add('after')
    expect(await running.roles(projectId)).toEqual([...acknowledged].toSorted())

    disk.fill()
    await addRolesUntilRefused(projects, projectId, acknowledged)
    expect(await running.server.stop()).toBe(0)
    disk.clear()
    expect(await (await start()).roles(projectId)).toEqual([...acknowledged].toSorted())
  })

  it('stops a start with a message that says so, and leaves nothing half done', async () => {
    disk.fill(1 << 20)
    const env = { KEYTURN_DATA_DIR: dataDir, KEYTURN_LISTEN: '127.0.0.1:0', KEYTURN_METRICS_LISTEN: 'off' }
    const first = await runKeyturn(['serve'], env)
    expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining('the disk is full') })
    expect(existsSync(join(dataDir, 'admin.json'))).toBe(false)

    disk.clear()
    const keys = await (await start()).keyIds()
    await server?.kill()
    disk.fill()
    const second = await runKeyturn(['serve'], env)
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('the disk is full') })

    disk.clear()
    expect(await (await start()).keyIds()).toEqual(keys)
  })

  it('stops a start that cannot write the credentials file, and leaves no half file', async () => {
    const full = mountSmallDisk(1)
    try {
      full.fill()
      const settings = { KEYTURN_DATA_DIR: dataDir, KEYTURN_LISTEN: '127.0.0.1:0', KEYTURN_METRICS_LISTEN: 'off' }
      const credentials = join(full.folder, 'admin.json')
      const refused = await runKeyturn(['serve'], { ...settings, KEYTURN_CREDENTIALS: credentials })
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot write the credentials file') })
      expect(await readdir(full.folder)).toEqual(['filler'])
      expect(await (await start()).keyIds()).toHaveLength(1)
    } finally {
      full.unmount()
    }
  })
})
