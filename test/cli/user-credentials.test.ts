import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTerminal, refuses, says, type Terminal, tooLong, UUID } from './terminal.ts'

let terminal: Terminal
beforeAll(async () => {
  terminal = await openTerminal()
  await terminal.lines('projects', 'create', 'billing')
})
afterAll(() => terminal?.close())

const NOTHING = '00000000-0000-4000-8000-000000000000'

async function createUser(): Promise<string> {
  const [line = ''] = await terminal.lines('users', 'create', 'invoices', '--project', 'billing')
  return line.replace('created ', '')
}

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

describe('keyturn users keys', () => {
  const keyturn = (...args: string[]) => terminal.run('users', 'keys', ...args)

  it('adds, lists and removes public keys', async () => {
    const clientId = await createUser()
    const jwk = publicJwk()
    const added = await terminal.lines('users', 'keys', 'add', clientId, await file('one.json', jwk))
    const [key] = (await list(clientId)).keys!
    expect(added).toEqual([`added ${key!.keyId} (P-256)`])
    expect(JSON.parse(key!.publicJwk)).toMatchObject(jwk)

    await terminal.lines('users', 'keys', 'add', clientId, await file('two.json', publicJwk()), '--expires', '90d')
    const lines = await terminal.lines('users', 'keys', 'list', clientId)
    expect(lines[0]).toMatch(/^KEY ID {32}KIND {3}AGE +ENDS IN$/)
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^${key!.keyId}  P-256  \\d+s +never$`)),
      expect.stringMatching(new RegExp(`^${UUID}  P-256  \\d+s +89d 23h$`)),
    ])
    expect(tooLong(lines)).toBeUndefined()

    expect(await keyturn('remove', clientId, key!.keyId)).toEqual(says(`removed ${key!.keyId}`))
    expect(await terminal.json('users', 'keys', 'list', clientId)).toEqual(await list(clientId))
    expect((await list(clientId)).keys).toHaveLength(1)
  })

  it('adds every key of a JWK set', async () => {
    const clientId = await createUser()
    const set = { keys: [publicJwk(), publicJwk()] }
    const { keys } = await terminal.json<{ keys: unknown[] }>(
      'users',
      'keys',
      'add',
      clientId,
      await file('set.json', set),
    )
    // They were added at the same moment, so the list has them in no order of ours.
    expect(keys).toHaveLength(2)
    expect((await list(clientId)).keys).toEqual(expect.arrayContaining(keys))
  })

  it('sends no private key anywhere', async () => {
    const clientId = await createUser()
    const path = await file('private.json', newKey().privateKey.export({ format: 'jwk' }))
    expect(await keyturn('add', clientId, path)).toEqual(
      refuses(`${path} has a private key: nothing was sent; make a file with the public key only`),
    )
  })

  it.each([
    ['no JSON', '-----BEGIN PUBLIC KEY-----'],
    ['no key', '{"hello": "world"}'],
  ])('says what a file with %s must have', async (_, content) => {
    const path = await file('bad.json', content)
    expect(await keyturn('add', NOTHING, path)).toEqual(
      refuses(`${path} is neither a JWK nor a JWK set (RFC 7517): it must be JSON with a "kty"`),
    )
  })

  it('says that a file or a key is not there', async () => {
    expect(await keyturn('add', NOTHING, '/no/such/file')).toEqual(refuses('cannot read /no/such/file'))
    expect(await keyturn('remove', await createUser(), NOTHING)).toEqual(
      refuses('the user has no such key (USER_KEY_NOT_FOUND)'),
    )
  })
})

describe('keyturn users tokens', () => {
  const keyturn = (...args: string[]) => terminal.run('users', 'tokens', ...args)

  it('creates a personal access token, shows it this once, and revokes it', async () => {
    const clientId = await createUser()
    await terminal.lines('users', 'grant', clientId, '--instance-role', 'IAM_OWNER_VIEWER')
    const lines = await terminal.lines('users', 'tokens', 'create', clientId, '--expires', '90d')
    expect(lines).toEqual([
      expect.stringMatching(/^token {5}ktn_pat_[\w-]{59}$/),
      expect.stringMatching(`^token id  ${UUID}$`),
      expect.stringMatching(/^expires {3}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      'The token is not shown again.',
    ])
    const statusOfCall = async () =>
      (
        await fetch(`${terminal.server.baseUrl}/iam.project.v2.ProjectService/ListProjects`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${lines[0]!.slice(10)}` },
          body: '{}',
        })
      ).status
    expect(await statusOfCall()).toBe(200)

    const table = await terminal.lines('users', 'tokens', 'list', clientId)
    const tokenId = lines[1]!.slice(10)
    expect(table).toEqual([
      expect.stringMatching(/^TOKEN ID {30}AGE +ENDS IN$/),
      expect.stringMatching(new RegExp(`^${tokenId}  \\d+s +89d 23h$`)),
    ])
    expect(await keyturn('revoke', clientId, tokenId)).toEqual(says(`revoked ${tokenId}`))
    expect(await statusOfCall()).toBe(401)
    expect(await terminal.json('users', 'tokens', 'list', clientId)).toEqual({})
  })

  it('prints what the API returns with --json', async () => {
    const clientId = await createUser()
    const created = await terminal.json<{ personalAccessToken: object }>(
      'users',
      'tokens',
      'create',
      clientId,
      '--expires',
      '12h',
    )
    expect(created).toEqual({ personalAccessToken: expect.anything(), token: expect.stringMatching(/^ktn_pat_/) })
    expect(await terminal.json('users', 'tokens', 'list', clientId)).toEqual({
      personalAccessTokens: [created.personalAccessToken],
    })
  })

  it('says how long a token may live', async () => {
    expect(await keyturn('create', await createUser(), '--expires', '366d')).toEqual(
      refuses('a personal access token must expire at most 365 days after it is created (EXPIRATION_TOO_LATE)'),
    )
  })

  it('says that there is no such token', async () => {
    expect(await keyturn('revoke', await createUser(), NOTHING)).toEqual(
      refuses('the user has no such personal access token (PERSONAL_ACCESS_TOKEN_NOT_FOUND)'),
    )
  })
})
