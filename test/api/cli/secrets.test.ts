import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { MOMENT, openTerminal, refuses, type Terminal, UUID } from '../../support/terminal.ts'

let terminal: Terminal
beforeAll(async () => {
  terminal = await openTerminal()
  await terminal.lines('projects', 'create', 'billing')
})
afterAll(() => terminal?.close())

const keyturn = (...args: string[]) => terminal.run('secrets', ...args)
const pathOf = (name: string) => join(terminal.server.dataDir, name)

async function createUser(): Promise<string> {
  const [line = ''] = await terminal.lines('users', 'create', 'invoices', '--project', 'billing')
  return line.replace('created ', '')
}

interface ListedSecret {
  readonly secretId: string
  readonly creationDate: string
  readonly expirationDate?: string
}

/** The secrets as the API lists them, asked for without the command line. */
async function secretsOf(clientId: string): Promise<ListedSecret[]> {
  const { secrets = [] } = await terminal.call<{ secrets?: ListedSecret[] }>(
    'iam.user.v2.ServiceUserService/ListClientSecrets',
    { userId: clientId.slice(0, 36) },
  )
  return secrets
}

/** Whether a secret gets a token, asked for without the command line. */
async function works(clientId: string, secret: string): Promise<boolean> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: secret,
    scope: 'openid',
  })
  return (await fetch(`${terminal.server.baseUrl}/oauth/v2/token`, { method: 'POST', body })).ok
}

describe('keyturn secrets generate', () => {
  it('prints the client ID and the secret, this once [Spec §5]', async () => {
    const clientId = await createUser()
    const lines = await terminal.lines('secrets', 'generate', clientId)
    const printed = Object.fromEntries(lines.map((line) => line.split(/ {2,}/)))
    expect(printed).toMatchObject({ 'client id': clientId, 'secret id': (await secretsOf(clientId))[0]!.secretId })
    expect(await works(clientId, printed['client secret'])).toBe(true)
    expect((await keyturn('list', clientId)).stdout).not.toContain('ktn_cs_')
  })

  it('--expires takes a time with its distance from UTC, and the server refuses one that is past', async () => {
    const clientId = await createUser()
    expect(
      await terminal.json('secrets', 'generate', clientId, '--expires', '2199-01-31T02:00:00+02:00'),
    ).toMatchObject({ secret: { expirationDate: '2199-01-31T00:00:00Z' } })
    const { code, stderr } = await keyturn('generate', clientId, '--expires', '2020-01-31T00:00:00Z')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^keyturn: the expiration date must lie in the future \(\w+\)\n$/)
    expect(await secretsOf(clientId)).toHaveLength(1)
  })
})

describe('keyturn secrets generate --out', () => {
  it('writes a credentials file that only its owner can read, and prints no secret', async () => {
    const clientId = await createUser()
    const path = pathOf('invoices.json')
    const printed = await terminal.lines('secrets', 'generate', clientId, '--out', path)
    expect(printed.join('\n')).toMatch(/^client secret +-$/m)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const { base_url, token_endpoint } = await terminal.server.admin()
    const content = JSON.parse(await readFile(path, 'utf8'))
    expect(content).toEqual({
      base_url,
      token_endpoint,
      client_id: clientId,
      client_secret: expect.stringMatching(/^ktn_cs_/),
    })
    expect(await runKeyturnInProcess(['token', '--scope', 'openid', '--credentials', path])).toMatchObject({ code: 0 })
  })

  it('never overwrites a file, and generates nothing then', async () => {
    const clientId = await createUser()
    const path = pathOf('kept.json')
    await writeFile(path, 'precious')
    expect(await keyturn('generate', clientId, '--out', path)).toEqual(
      refuses(`${path} is there already: nothing was generated; name a new file`),
    )
    expect(await readFile(path, 'utf8')).toBe('precious')
    expect(await secretsOf(clientId)).toEqual([])
  })
})

describe('keyturn secrets list, deactivate and delete', () => {
  it('lists secrets, oldest first', async () => {
    const clientId = await createUser()
    await terminal.lines('secrets', 'generate', clientId)
    await terminal.lines('secrets', 'generate', clientId, '--expires', '90d')
    const lines = await terminal.lines('secrets', 'list', clientId)
    expect(lines).toEqual([
      expect.stringMatching(/^SECRET ID {29}EXPIRATION DATE +DEACTIVATION DATE +LAST USE DATE$/),
      expect.stringMatching(new RegExp(`^${UUID}  - +- +-$`)),
      expect.stringMatching(new RegExp(`^${UUID}  ${MOMENT} +- +-$`)),
    ])
    expect(await terminal.json('secrets', 'list', clientId)).toEqual({ secrets: await secretsOf(clientId) })
  })
})
