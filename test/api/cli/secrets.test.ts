import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { openTerminal, refuses, type Terminal, tooLong, UUID } from '../../support/terminal.ts'

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
    expect(lines).toEqual([
      `client ID      ${clientId}`,
      expect.stringMatching(/^client secret {2}ktn_cs_[\w-]{43}$/),
      `secret id      ${(await secretsOf(clientId))[0]!.secretId}`,
      'expires        never',
      'The secret is not shown again.',
    ])
    expect(await works(clientId, lines[1]!.slice(15))).toBe(true)
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
    expect(printed).toEqual([
      `client ID   ${clientId}`,
      `secret id   ${(await secretsOf(clientId))[0]!.secretId}`,
      'expires     never',
      `written to  ${path}`,
    ])
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
  it('lists secrets, oldest first, in a table of 80 columns', async () => {
    const clientId = await createUser()
    await terminal.lines('secrets', 'generate', clientId)
    await terminal.lines('secrets', 'generate', clientId, '--expires', '90d')
    const lines = await terminal.lines('secrets', 'list', clientId)
    expect(lines[0]).toMatch(/^SECRET ID {29}STATE {2}AGE +ENDS IN {2}LAST USE$/)
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^${UUID}  live   \\d+s +never {4}never$`)),
      expect.stringMatching(new RegExp(`^${UUID}  live   \\d+s +89d 23h  never$`)),
    ])
    expect(tooLong(lines)).toBeUndefined()
    expect(await terminal.json('secrets', 'list', clientId)).toEqual({ secrets: await secretsOf(clientId) })
  })
})
