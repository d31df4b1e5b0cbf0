import { generateKeyPairSync } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { certificateOf } from '../../support/certificates.ts'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { MOMENT, openTerminal, refuses, says, type Terminal, tooLong, UUID } from '../../support/terminal.ts'

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
    const { stdout, stderr } = await keyturn('generate', clientId)
    expect(stderr).toBe('the secret is not shown again\n')
    const lines = stdout.split('\n')
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
    const { stdout, stderr } = await keyturn('generate', clientId, '--out', path)
    expect(stdout).toMatch(/^client secret +-$/m)
    expect(stderr).toBe(`the credentials were written to ${path}\n`)
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

const NOTHING = '00000000-0000-4000-8000-000000000000'

async function file(name: string, content: object | string): Promise<string> {
  const path = join(terminal.server.dataDir, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const publicJwk = () => newKey().publicKey.export({ format: 'jwk' })
const list = (clientId: string) =>
  terminal.call<{ keys?: { keyId: string; publicJwk: string }[] }>('iam.user.v2.ServiceUserService/ListUserKeys', {
    userId: clientId.slice(0, 36),
  })

describe('keyturn users certificates', () => {
  const keyturn = (...args: string[]) => terminal.run('users', 'certificates', ...args)

  it('adds, lists and removes client certificates', async () => {
    const clientId = await createUser()
    const own = certificateOf()
    const pem = await file('client.pem', own.pem)
    for (const choice of [
      ['--uri', 'spiffe://example.org/checkout'],
      ['--dns', 'checkout.example', '--expires', '90d'],
      ['--subject', 'CN=checkout, O=Shop'],
      ['--file', pem],
    ]) {
      expect(await keyturn('add', clientId, ...choice)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^added /),
      })
    }
    const lines = await terminal.lines('users', 'certificates', 'list', clientId)
    expect(lines[0]).toMatch(/^CERTIFICATE ID {24}MATCH +EXPIRATION DATE$/)
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^${UUID}  san uri spiffe://example.org/checkout +-$`)),
      expect.stringMatching(new RegExp(`^${UUID}  san dns checkout.example +${MOMENT}$`)),
      expect.stringMatching(new RegExp(`^${UUID}  subject dn CN=checkout,O=Shop +-$`)),
      expect.stringMatching(new RegExp(`^${UUID}  thumbprint ${own.thumbprint} +${MOMENT}$`)),
    ])
    const [id = ''] = lines[1]!.split(' ')
    expect(await keyturn('remove', clientId, id)).toEqual(says(`removed ${id}`))
    expect(await terminal.lines('users', 'certificates', 'list', clientId)).toHaveLength(4)
  })
})

describe('keyturn users keys', () => {
  const keyturn = (...args: string[]) => terminal.run('users', 'keys', ...args)

  it('adds, lists and removes public keys', async () => {
    const clientId = await createUser()
    const jwk = publicJwk()
    const added = await terminal.lines('users', 'keys', 'add', clientId, await file('one.json', jwk))
    const [key] = (await list(clientId)).keys!
    expect(added).toEqual([`added ${key!.keyId}`])
    expect(JSON.parse(key!.publicJwk)).toMatchObject(jwk)

    await terminal.lines('users', 'keys', 'add', clientId, await file('two.json', publicJwk()), '--expires', '90d')
    const lines = await terminal.lines('users', 'keys', 'list', clientId)
    expect(lines[0]).toMatch(/^KEY ID {32}CREATION DATE +EXPIRATION DATE$/)
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^${key!.keyId}  ${MOMENT}  -$`)),
      expect.stringMatching(new RegExp(`^${UUID}  ${MOMENT}  ${MOMENT}$`)),
    ])
    expect(tooLong(lines)).toBeUndefined()

    expect(await keyturn('remove', clientId, key!.keyId)).toEqual(says(`removed ${key!.keyId}`))
    expect(await terminal.json('users', 'keys', 'list', clientId)).toEqual(await list(clientId))
    expect((await list(clientId)).keys).toHaveLength(1)
  })

  it.each<[string, object]>([
    ['an EC key', newKey().privateKey.export({ format: 'jwk' })],
    ['one key of a set', { keys: [publicJwk(), newKey().privateKey.export({ format: 'jwk' })] }],
  ])('refuses a file with the private half of %s', async (_, content) => {
    const path = await file('private.json', content)
    expect(await keyturn('add', NOTHING, path)).toEqual(
      refuses(`${path} has a private key: nothing was sent; make a file with the public key only`),
    )
  })
})

describe('keyturn users tokens', () => {
  const keyturn = (...args: string[]) => terminal.run('users', 'tokens', ...args)

  it('creates a personal access token, shows it this once, and revokes it', async () => {
    const clientId = await createUser()
    await terminal.lines('users', 'grant', clientId, '--instance-role', 'IAM_OWNER_VIEWER')
    const lines = await terminal.lines('users', 'tokens', 'create', clientId, '--expires', '90d')
    const printed = Object.fromEntries(lines.map((line) => line.split(/ {2,}/)))
    const tokenId = printed['token id']
    const statusOfCall = async () =>
      (
        await fetch(`${terminal.server.baseUrl}/iam.project.v2.ProjectService/ListProjects`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${printed.token}` },
          body: '{}',
        })
      ).status
    expect(await statusOfCall()).toBe(200)

    const table = await terminal.lines('users', 'tokens', 'list', clientId)
    expect(table).toEqual([
      expect.stringMatching(/^TOKEN ID {30}CREATION DATE +EXPIRATION DATE$/),
      expect.stringMatching(new RegExp(`^${tokenId}  ${MOMENT}  ${MOMENT}$`)),
    ])
    expect(await keyturn('revoke', clientId, tokenId)).toEqual(says(`revoked ${tokenId}`))
    expect(await statusOfCall()).toBe(401)
    expect(await terminal.json('users', 'tokens', 'list', clientId)).toEqual({})
  })
})
