/**
 * The authorization of the Model Context Protocol with client credentials: its SDK for TypeScript, as published, finds Keyturn through the
 * metadata of an MCP server (RFC 9728), gets a token for its resource (RFC 8707), and calls the server, which checks it with
 * `@keyturn/verify`.
 */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Administration, administrationOf } from '../support/administration.ts'
import { cannotInstall, missing, type Shell, shellIn } from '../support/foreign-tools.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const FOLDER = join(import.meta.dirname, 'mcp')
const TOOLS = {
  needs: { npm: 'npm --version' },
  install:
    'npm install --silent --no-audit --no-fund --prefix "$CACHE" @modelcontextprotocol/sdk@1.32.2 && ln -s "$CACHE/node_modules" node_modules',
}

const folder = await temporaryFolder()
const shell: Shell = shellIn(folder, 'mcp')
const obstacle = missing(TOOLS) ?? (await cannotInstall(TOOLS, shell))
if (obstacle !== undefined) process.stderr.write(`Skipped the SDK of the Model Context Protocol: ${obstacle}\n`)

describeUnless(obstacle)('a client of the Model Context Protocol', () => {
  let server: Keyturn
  let admin: Administration
  let projectId: string
  let credentials: { readonly userId: string; readonly clientId: string; readonly clientSecret: string }

  beforeAll(async () => {
    await cp(join(FOLDER, 'program.mjs'), join(folder, 'program.mjs'))
    server = await startKeyturnInProcess()
    admin = await administrationOf(server)
    projectId = (await admin.projects.createProject({ name: 'tools' })).project!.projectId
    const { serviceUser } = await admin.users.createServiceUser({
      projectId,
      name: 'agent',
      clientCredentialsEnabled: true,
    })
    const { userId } = serviceUser!
    credentials = { userId, ...(await admin.users.generateClientSecret({ userId })) }
  })
  afterAll(async () => {
    await server?.stop()
    if (server !== undefined) await removeFolder(server.dataDir)
    await removeFolder(folder)
  })

  const run = async (resource: string): Promise<unknown> => {
    const env = {
      ISSUER: server.baseUrl,
      CLIENT_ID: credentials.clientId,
      CLIENT_SECRET: credentials.clientSecret,
      RESOURCE: resource,
      KEYTURN_VERIFY: new URL('../../packages/verify/src/index.ts', import.meta.url).href,
    }
    return JSON.parse(await shell('node program.mjs', env))
  }

  it('gets a token for the server that it calls, and is let in [RFC 8707 §2]', async () => {
    const resource = `http://127.0.0.1:${await freePort()}/mcp`
    await admin.projects.addProjectAudience({ projectId, audience: resource })
    expect(await run(resource)).toEqual({ subject: credentials.userId, audience: [resource] })
  })

  it('gets none for a server that is no audience of a project', async () => {
    const resource = `http://127.0.0.1:${await freePort()}/mcp`
    expect(await run(resource)).toEqual({ error: expect.stringContaining('the resource is unknown') })
  })
})
