import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { type AdminCredentials, requestToken, runKeyturnInProcess } from '../../support/keyturn.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { openTerminal, refuses, type Terminal } from '../../support/terminal.ts'

/** A running server, and the settings that it shares with the command. */
let postgres: TestPostgres
let settings: Record<string, string>
let terminal: Terminal
beforeAll(async () => {
  postgres = sharedPostgres()
  const env = {
    KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
    KEYTURN_MASTER_KEYS: generateMasterKey(),
  }
  terminal = await openTerminal({ env })
  settings = { ...env, KEYTURN_DATA_DIR: terminal.server.dataDir, KEYTURN_BASE_URL: terminal.server.baseUrl }
})
afterAll(async () => {
  await terminal?.close()
  await postgres?.stop()
})

const recover = (env: Record<string, string> = {}) => runKeyturnInProcess(['recover'], { ...settings, ...env })
const pathOf = (name: string) => join(terminal.server.dataDir, name)
const credentials = async (): Promise<AdminCredentials> => JSON.parse(await readFile(pathOf('admin.json'), 'utf8'))
const idOf = (clientId: string) => clientId.slice(0, 36)

/** Calls a method of `iam.user.v2.ServiceUserService` as the owner of the credentials file. */
const call = <T>(method: string, request: object): Promise<T> =>
  terminal.call(`iam.user.v2.ServiceUserService/${method}`, request)

async function secretIdsOf(userId: string): Promise<string[]> {
  const { secrets } = await call<{ secrets: { secretId: string }[] }>('ListClientSecrets', { userId })
  return secrets.map(({ secretId }) => secretId)
}

/** The server hears of a new secret, so it may take a moment. */
const untilItWorks = () => eventually(async () => expect(await requestToken(await credentials())).toMatch(/^ey/))

const NEXT = 'Next: look through the secrets of the owners, and deactivate those that may be in wrong hands.\n'
const RENAMED = /^\{"level":"warn".*"msg":"the credentials file that was there was renamed.*\}\n$/

describe('keyturn recover', () => {
  it('gives the owner a new secret, writes the credentials file, and leaves an audit event', async () => {
    const before = await credentials()
    await rm(pathOf('admin.json'))

    expect(await recover()).toEqual({
      code: 0,
      stdout: `A new secret of the owner ${before.client_id} was written to ${pathOf('admin.json')}.\n${NEXT}`,
      stderr: '',
    })
    const after = await credentials()
    expect(after).toEqual({ ...before, client_secret: expect.stringMatching(/^ktn_cs_/) })
    expect(after.client_secret).not.toBe(before.client_secret)
    expect((await stat(pathOf('admin.json'))).mode & 0o777).toBe(0o600)

    await untilItWorks()
    const userId = idOf(before.client_id)
    const secretIds = await secretIdsOf(userId)
    expect(secretIds).toHaveLength(2)
    const { stdout } = await terminal.run('audit', '--actor', 'system', '--limit', '1', '--json')
    expect(JSON.parse(stdout).events).toEqual([
      expect.objectContaining({
        actor: 'system',
        action: 'recover',
        resource: `users/${userId}/secrets/${secretIds[1]}`,
        outcome: 'ok',
      }),
    ])
  })

  it('keeps a credentials file that is there under another name', async () => {
    const before = await credentials()
    expect(await recover()).toMatchObject({ code: 0, stderr: expect.stringMatching(RENAMED) })
    const kept = (await readdir(terminal.server.dataDir)).filter((name) => /^admin\.json\..+\.old$/.test(name))
    expect(await Promise.all(kept.map((name) => readFile(pathOf(name), 'utf8').then(JSON.parse)))).toEqual([before])
    await untilItWorks()
  })

  describe('leaves no secret behind that nobody has, where the credentials file cannot be written', () => {
    const secretIds = async () => await secretIdsOf(idOf((await credentials()).client_id))

    it('because a folder has its name', async () => {
      const before = await secretIds()
      const folder = pathOf('folder')
      await mkdir(folder)
      expect(await recover({ KEYTURN_CREDENTIALS: folder })).toEqual(
        refuses(
          `cannot write the credentials file ${folder}: there is something else than a file: ` +
            'choose another with --credentials or KEYTURN_CREDENTIALS',
        ),
      )
      expect(await secretIds()).toEqual(before)
      const names = await readdir(terminal.server.dataDir)
      expect(names.filter((name) => name.startsWith('folder'))).toEqual(['folder'])
    })
  })

  it('switches the client credentials grant on if the only owner is not allowed it, and bearer tokens', async () => {
    const userId = idOf((await credentials()).client_id)
    await call('UpdateServiceUser', {
      userId,
      clientCredentialsEnabled: false,
      boundTokensRequired: true,
      updateMask: 'clientCredentialsEnabled,boundTokensRequired',
    })
    await expect(requestToken(await credentials())).rejects.toThrow('no token: ')
    expect(await recover()).toMatchObject({ code: 0 })
    await untilItWorks()
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
})
