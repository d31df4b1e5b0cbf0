import { access, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { removeFolder, runKeyturn, startKeyturn, temporaryFolder } from '../../support/keyturn.ts'
import { freePort, startPostgres } from '../../support/postgres.ts'
import { refuses } from '../../support/terminal.ts'
import { itUnless, NOT_LINUX } from '../../support/unless.ts'
import { requestToken } from '../../support/web-key-client.ts'

/** A data directory of an instance that was set up. */
let dataDir: string
let port: number
beforeAll(async () => {
  dataDir = await temporaryFolder()
  port = await freePort()
  await (await start()).stop()
})
afterAll(() => removeFolder(dataDir))

const start = () => startKeyturn({ dataDir, env: { KEYTURN_LISTEN: `127.0.0.1:${port}` } })
const keyturn = (args: readonly string[], env: Record<string, string> = {}) =>
  runKeyturn(args, { KEYTURN_DATA_DIR: dataDir, KEYTURN_LISTEN: `127.0.0.1:${port}`, ...env })
const recover = (env: Record<string, string> = {}) => keyturn(['recover'], env)

/** Calls a method of `iam.user.v2.ServiceUserService` as the owner of the credentials file. */
type Call = <T>(method: string, request: object) => Promise<T>

/** Works with the instance, which runs for that long. */
async function whileRunning<T>(work: (call: Call) => Promise<T>): Promise<T> {
  const server = await start()
  try {
    const token = await requestToken(await server.admin())
    return await work(async (method, request) => {
      const response = await fetch(`${server.baseUrl}/iam.user.v2.ServiceUserService/${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(request),
      })
      if (!response.ok) throw new Error(`${method}: ${await response.text()}`)
      return JSON.parse(await response.text())
    })
  } finally {
    await server.stop()
  }
}

interface User {
  readonly userId: string
  readonly projectId: string
  readonly name: string
  readonly enabled?: boolean
}

/** Generates secrets until no more are allowed. */
async function fillSecrets(call: Call, userId: string): Promise<void> {
  const { secrets } = await call<{ secrets: unknown[] }>('ListClientSecrets', { userId })
  for (let count = secrets.length; count < 10; count += 1) await call('GenerateClientSecret', { userId })
}

const idOf = (clientId: string) => clientId.slice(0, 36)
const credentials = async (): Promise<{ client_id: string; client_secret: string; base_url: string }> =>
  JSON.parse(await readFile(join(dataDir, 'admin.json'), 'utf8'))

const NEXT = 'Next: look through the secrets of the owners, and deactivate those that may be in wrong hands.\n'

describe('keyturn recover', () => {
  it('gives the owner a new secret, writes the credentials file, and leaves an audit event', async () => {
    const before = await credentials()
    await rm(join(dataDir, 'admin.json'))

    expect(await recover()).toEqual({
      code: 0,
      stdout: `A new secret of the owner ${before.client_id} was written to ${join(dataDir, 'admin.json')}.\n${NEXT}`,
      stderr: '',
    })
    const after = await credentials()
    expect(after).toEqual({ ...before, client_secret: expect.stringMatching(/^ktn_cs_/) })
    expect(after.client_secret).not.toBe(before.client_secret)
    expect((await stat(join(dataDir, 'admin.json'))).mode & 0o777).toBe(0o600)

    await whileRunning(async (call) => {
      const userId = idOf(before.client_id)
      const { secrets } = await call<{ secrets: { secretId: string }[] }>('ListClientSecrets', { userId })
      expect(secrets).toHaveLength(2)
      const { stdout } = await keyturn(['audit', '--actor', 'system', '--limit', '1', '--json'])
      expect(JSON.parse(stdout).events).toEqual([
        expect.objectContaining({
          actor: 'system',
          action: 'recover',
          resource: `users/${userId}/secrets/${secrets[1]!.secretId}`,
          outcome: 'ok',
        }),
      ])
    })
  })

  it('keeps a credentials file that is there under another name', async () => {
    const before = await credentials()
    expect(await recover()).toMatchObject({ code: 0 })
    const kept = (await readdir(dataDir)).filter((name) => /^admin\.json\..+\.old$/.test(name))
    expect(
      await Promise.all(kept.map((name) => readFile(join(dataDir, name), 'utf8').then(JSON.parse))),
    ).toContainEqual(before)
  })

  describe('leaves no secret behind that nobody has, where the credentials file cannot be written', () => {
    const secretIds = () =>
      whileRunning(async (call) => {
        const userId = idOf((await credentials()).client_id)
        const { secrets } = await call<{ secrets: { secretId: string }[] }>('ListClientSecrets', { userId })
        return secrets.map(({ secretId }) => secretId)
      })

    it('because a folder has its name', async () => {
      const before = await secretIds()
      const folder = join(dataDir, 'folder')
      await mkdir(folder)
      expect(await recover({ KEYTURN_CREDENTIALS: folder })).toEqual(
        refuses(
          `cannot write the credentials file ${folder}: there is something else than a file: ` +
            'choose another with --credentials or KEYTURN_CREDENTIALS',
        ),
      )
      expect(await secretIds()).toEqual(before)
      expect((await readdir(dataDir)).filter((name) => name.startsWith('folder'))).toEqual(['folder'])
    })

    itUnless(NOT_LINUX)('because its folder cannot be made', async () => {
      const before = await secretIds()
      const { code, stderr } = await recover({ KEYTURN_CREDENTIALS: '/proc/keyturn/admin.json' })
      expect(code).toBe(1)
      expect(stderr).toMatch(/^keyturn: cannot write the credentials file \/proc\/keyturn\/admin.json: ENOENT/)
      expect(await secretIds()).toEqual(before)
    })
  })

  it('switches the client credentials grant on if the only owner is not allowed it', async () => {
    const userId = idOf((await credentials()).client_id)
    await whileRunning((call) =>
      call('UpdateServiceUser', { userId, clientCredentialsEnabled: false, updateMask: 'clientCredentialsEnabled' }),
    )
    expect(await recover()).toMatchObject({ code: 0 })
    await whileRunning((call) => call('GetServiceUser', { userId }))
  })

  it('enables a disabled owner if the others have as many secrets as they may, and else makes one', async () => {
    const second = await whileRunning(async (call) => {
      const userId = idOf((await credentials()).client_id)
      await fillSecrets(call, userId)
      const { serviceUser: owner } = await call<{ serviceUser: User }>('GetServiceUser', { userId })
      const { serviceUser } = await call<{ serviceUser: User }>('CreateServiceUser', {
        projectId: owner.projectId,
        name: 'second',
      })
      await call('SetInstanceRoles', { userId: serviceUser.userId, instanceRoles: ['INSTANCE_ROLE_IAM_OWNER'] })
      await call('DisableServiceUser', { userId: serviceUser.userId })
      return serviceUser.userId
    })
    const file = join(dataDir, 'admin.json')
    expect((await recover()).stdout).toBe(
      `A new secret of the owner ${second}@keyturn was written to ${file}. It was disabled and is enabled now.\n${NEXT}`,
    )
    await whileRunning(async (call) => {
      const { serviceUser } = await call<{ serviceUser: User }>('GetServiceUser', { userId: second })
      expect(serviceUser).toMatchObject({ name: 'second', enabled: true })
      await fillSecrets(call, second)
    })
    expect((await recover()).stdout).toMatch(/ There was no owner that could be given a secret, so it was created\.\n/)
    await whileRunning(async (call) => {
      const { serviceUser } = await call<{ serviceUser: User }>('GetServiceUser', {
        userId: idOf((await credentials()).client_id),
      })
      expect(serviceUser).toMatchObject({ name: 'recovered administrator', enabled: true })
    })
  })

  it('is refused while a server uses the embedded database', async () => {
    await whileRunning(async () => {
      expect(await recover()).toEqual(
        refuses(
          `the data directory ${dataDir} is in use by another process: stop that process or choose another directory`,
        ),
      )
    })
  })
})

describe('without proof of being the operator, keyturn recover', () => {
  it('is refused with another master key', async () => {
    const before = await credentials()
    const { code, stdout, stderr } = await recover({ KEYTURN_MASTER_KEYS: generateMasterKey() })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^keyturn: the integrity key of the instance cannot be opened: master key "mk-\w+" sealed it/,
    )
    expect(await credentials()).toEqual(before)
  })

  it('is refused without the master key, and makes none', async () => {
    const path = join(dataDir, 'master.key')
    await rename(path, `${path}.away`)
    try {
      expect(await recover()).toEqual(
        refuses(`the master key ${path} of the embedded database is missing: restore it from a backup`),
      )
      await expect(access(path)).rejects.toThrow('ENOENT')
    } finally {
      await rename(`${path}.away`, path)
    }
  })

  it('is refused where there is no instance, and leaves nothing there', async () => {
    const empty = await temporaryFolder()
    try {
      expect(await recover({ KEYTURN_DATA_DIR: empty })).toEqual(
        refuses(`there is no embedded database in ${empty}: name the data directory of the server with --data-dir`),
      )
      expect(await readdir(empty)).toEqual([])
    } finally {
      await removeFolder(empty)
    }
  })

  it('wants to know the address of the server if the port is not fixed', async () => {
    expect(await recover({ KEYTURN_LISTEN: '127.0.0.1:0' })).toEqual(
      refuses('the port of the server is not known: name its address with --base-url'),
    )
  })

  it('says what is wrong with the settings, like the server', async () => {
    await writeFile(join(dataDir, 'unused'), '')
    expect(await recover({ KEYTURN_LISTEN: 'nonsense' })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/KEYTURN_LISTEN/),
    })
  })
})

describe('on PostgreSQL, keyturn recover', () => {
  it('works while servers run, and they take the new secret', async () => {
    const folder = await temporaryFolder()
    const postgres = await startPostgres()
    const env = { KEYTURN_DATABASE_URL: await postgres.createDatabase(), KEYTURN_MASTER_KEYS: generateMasterKey() }
    const server = await startKeyturn({ dataDir: folder, env })
    try {
      const before = await server.admin()
      await requestToken(before)
      const settings = { ...env, KEYTURN_DATA_DIR: folder, KEYTURN_BASE_URL: server.baseUrl }
      expect(await runKeyturn(['recover'], settings)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('the credentials file that was there was renamed'),
      })
      const after = await server.admin()
      expect(after.client_secret).not.toBe(before.client_secret)
      // The server hears of the new secret, so it may take a moment.
      await eventually(async () => expect(await requestToken(after)).toMatch(/^ey/))
    } finally {
      await server.stop()
      await postgres.stop()
      await removeFolder(folder)
    }
  })
})
