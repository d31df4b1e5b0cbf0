/**
 * `KEYTURN_BOOTSTRAP_FILE`: an instance that begins with a configuration, and without any secret.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import {
  type KeyturnProcess,
  removeFolder,
  startKeyturn,
  startKeyturnInProcess,
  temporaryFolder,
} from '../support/keyturn.ts'
import { newPostgresDatabase } from '../support/new-database.ts'

let folder: string
let server: KeyturnProcess | undefined
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  await server?.kill()
  server = undefined
})
afterAll(() => removeFolder(folder))

const keys = await generateKeyPair('ES256', { extractable: true })

async function fileWith(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

async function ownerFile(extra = ''): Promise<string> {
  const jwk = JSON.stringify(await exportJWK(keys.publicKey))
  return fileWith(
    'bootstrap.yaml',
    `projects:
  - name: platform
serviceUsers:
  - project: platform
    name: administrator
    instanceRoles: [INSTANCE_ROLE_IAM_OWNER]
    publicKeys:
      - publicJwk: '${jwk}'
${extra.replaceAll(/^(?=.)/gm, '    ')}`,
  )
}

/** An access token for the API, by an assertion of the owner. */
async function tokenOf({ baseUrl, listenUrl }: KeyturnProcess, clientId: string): Promise<string> {
  const assertion = await new SignJWT()
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(baseUrl)
    .setJti(crypto.randomUUID())
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(keys.privateKey)
  const response = await fetch(`${listenUrl}/oauth/v2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
      scope: 'urn:service:iam:org:project:id:service:aud',
    }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}

/** Why a server does not start with this file. */
async function refused(file: string): Promise<string> {
  const starting = startKeyturnInProcess({ env: { KEYTURN_BOOTSTRAP_FILE: file } })
  return await starting.then(
    () => '',
    (error: Error) => error.message,
  )
}

describe('a bootstrap file', () => {
  it('is what an empty instance begins with: its owner administers it, and there is no secret', async () => {
    const file = await ownerFile()
    const env = { KEYTURN_DATABASE_URL: await newPostgresDatabase(), KEYTURN_MASTER_KEYS: generateMasterKey() }
    server = await startKeyturn({ env: { ...env, KEYTURN_BOOTSTRAP_FILE: file } })
    const { output } = server
    expect(output().stdout).toContain(`The instance begins with ${file}.`)
    expect(existsSync(join(server.dataDir, 'admin.json'))).toBe(false)
    // Lines of the log are written a moment later.
    const clientId = await eventually(() => {
      const [, owner = ''] = /"clientIds":\["([^"]+)"\]/.exec(output().stderr) ?? []
      expect(owner).toMatch(/^[0-9a-f-]{36}@platform$/)
      return owner
    })

    const admin = administrationWith(server, await tokenOf(server, clientId))
    const [userId = ''] = clientId.split('@')
    expect((await admin.users.listClientSecrets({ userId })).secrets).toEqual([])
    const { serviceUsers } = await admin.users.listServiceUsers({})
    expect(serviceUsers.map(({ name }) => name)).toEqual(['administrator'])
    const { events } = await admin.audit.listAuditEvents({ actor: 'system' })
    expect(events.map(({ action, resource }) => `${action} ${resource.split('/')[0]}`).toSorted()).toEqual([
      'bootstrap instance',
      'bootstrap projects',
      'bootstrap users',
    ])
    // It belongs to the label that `keyturn apply` has without one.
    const { configuration } = await admin.configurations.exportConfiguration({ label: 'default' })
    expect(configuration!.serviceUsers).toHaveLength(1)

    await server.stop()
    const other = await fileWith('other.yaml', 'not a configuration')
    server = await startKeyturn({ env: { ...env, KEYTURN_BOOTSTRAP_FILE: other }, dataDir: server.dataDir })
    expect(server.output().stdout).toContain('The instance was set up before.')
    await eventually(() => expect(server!.output().stderr).toContain('KEYTURN_BOOTSTRAP_FILE is ignored'))
  })

  it('with mistakes stops the start, and each is named with its line', async () => {
    const message = await refused(
      await ownerFile('scopes: [orders.write]\nprojectRoles: [{ project: shop, roles: [admin] }]\n'),
    )
    expect(message).toMatch(/bootstrap\.yaml:\d+:\d+: .*there is no project shop/)
    expect(message).toMatch(/bootstrap\.yaml:\d+:\d+: .*has no scope "orders\.write"/)
  })

  it('without an owner who can prove itself stops the start', async () => {
    const file = await fileWith('ownerless.json', JSON.stringify({ projects: [{ name: 'platform' }] }))
    expect(await refused(file)).toContain('ownerless.json has no owner')
  })

  it('that asks for a secret stops the start', async () => {
    const file = await ownerFile('generateSecret: { into: "file:///tmp/secret" }\n')
    expect(await refused(file)).toContain('the server hands no secret over')
  })
})
