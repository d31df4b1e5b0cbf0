import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MOMENT, openTerminal, refuses, rejects, says, type Terminal, tooLong, UUID } from '../../support/terminal.ts'

let terminal: Terminal
beforeAll(async () => {
  terminal = await openTerminal()
  await terminal.lines('projects', 'create', 'billing')
  await terminal.lines('projects', 'create', 'other')
  await terminal.lines('projects', 'roles', 'add', 'billing', 'reader')
  await terminal.lines('projects', 'roles', 'add', 'other', 'a:b')
  await terminal.lines('projects', 'scopes', 'add', 'billing', 'invoices:read')
})
afterAll(() => terminal?.close())

const keyturn = (...args: string[]) => terminal.run('users', ...args)

/** Creates a user in the project `billing` and returns its client ID. */
async function createUser(name: string, ...options: string[]): Promise<string> {
  const [line = ''] = await terminal.lines('users', 'create', name, '--project', 'billing', ...options)
  return line.replace('created ', '')
}

const idOf = (clientId: string) => clientId.slice(0, 36)

/** The user as the API has it, asked for without the command line. */
async function userOfTheApi(clientId: string) {
  const { serviceUser } = await terminal.call<{ serviceUser: Record<string, unknown> }>(
    'iam.user.v2.ServiceUserService/GetServiceUser',
    { userId: idOf(clientId) },
  )
  return serviceUser
}

describe('keyturn users create and list', () => {
  it('creates a user and prints its client ID', async () => {
    const { code, stdout, stderr } = await keyturn('create', 'invoices', '--project', 'billing')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^created ${UUID}@billing\n$`))
    const clientId = stdout.trim().replace('created ', '')
    expect(await userOfTheApi(clientId)).toMatchObject({
      clientId,
      name: 'invoices',
      enabled: true,
      clientCredentialsEnabled: true,
    })
  })

  it('lists all users, oldest first, or those of one project, in a table of 80 columns', async () => {
    await terminal.lines('users', 'create', 'elsewhere', '--project', 'other')
    const all = await terminal.lines('users', 'list')
    expect(all[0]).toMatch(/^CLIENT ID {37}ENABLED {2}NAME$/)
    expect(all[1]).toMatch(new RegExp(`^${UUID}@keyturn  true     administrator$`))
    expect(all.at(-1)).toMatch(new RegExp(`^${UUID}@other    true     elsewhere$`))
    expect(tooLong(all)).toBeUndefined()

    const some = await terminal.lines('users', 'list', '--project', 'other')
    expect(some.slice(1)).toEqual([expect.stringMatching(new RegExp(`^${UUID}@other  true     elsewhere$`))])
  })

  it('wants a project, and one that exists', async () => {
    expect(await keyturn('create', 'x')).toEqual(rejects("required option '--project <project>' not specified"))
    expect(await keyturn('create', 'x', '--project', 'nobody')).toEqual(
      refuses('there is no project "nobody": "keyturn projects list" prints those that exist'),
    )
  })
})

describe('keyturn users show', () => {
  it('prints everything about a user but its credentials', async () => {
    const clientId = await createUser('shown', '--no-client-credentials')
    await terminal.lines('users', 'grant', clientId, '--role', 'other:a:b')
    await terminal.lines('users', 'grant', clientId, '--role', 'billing:reader')
    await terminal.lines('users', 'grant', clientId, '--scope', 'invoices:read')
    await terminal.lines('users', 'grant', clientId, '--instance-role', 'IAM_OWNER_VIEWER')
    await terminal.lines('projects', 'members', 'set', 'billing', clientId, '--role', 'PROJECT_OWNER_VIEWER')
    const shown = (await terminal.lines('users', 'show', clientId)).map((line) => line.replace(/ {2,}/, ': '))
    const { projectId } = (await userOfTheApi(clientId)) as { projectId: string }
    expect(shown).toEqual([
      `user id: ${idOf(clientId)}`,
      `client id: ${clientId}`,
      'name: shown',
      `project id: ${projectId}`,
      'enabled: true',
      'client credentials enabled: false',
      'instance roles: IAM_OWNER_VIEWER',
      expect.stringMatching(`^project roles: (${projectId}:reader ${UUID}:a:b|${UUID}:a:b ${projectId}:reader)$`),
      'scopes: invoices:read',
      expect.stringMatching(`^creation date: ${MOMENT}$`),
      'token lifetime: -',
      'token claims: -',
      'bound tokens required: false',
      'certificate bound tokens: false',
      `managed projects: ${projectId}:PROJECT_OWNER_VIEWER`,
    ])
    expect(await terminal.json('users', 'show', idOf(clientId))).toEqual({ serviceUser: await userOfTheApi(clientId) })
  })
})

describe('keyturn users token-lifetime and token-claims', () => {
  it('set what the tokens of a user are like, and take it back', async () => {
    const clientId = await createUser('set')
    expect(await keyturn('token-lifetime', clientId, '5m')).toMatchObject({ code: 0, stderr: '' })
    const claimed = await keyturn('token-claims', clientId, '{"tenant": "a"}')
    expect(claimed.stdout).toMatch(/^token lifetime +5m\ntoken claims +\{"tenant":"a"\}$/m)
    expect(await userOfTheApi(clientId)).toMatchObject({ tokenLifetime: '300s', tokenClaims: '{"tenant":"a"}' })
    await keyturn('token-lifetime', clientId, 'default')
    const none = await keyturn('token-claims', clientId, '{}')
    expect(none.stdout).toMatch(/^token lifetime +-\ntoken claims +-$/m)
    expect(await keyturn('token-lifetime', clientId, '2h')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('(TOKEN_LIFETIME_INVALID)'),
    })
  })
})

describe('keyturn users revoke-tokens', () => {
  it('revokes the access tokens of a user, also twice', async () => {
    const clientId = await createUser('leaked')
    const userId = clientId.split('@')[0]
    const revoked = says(`revoked the access tokens of ${userId}`)
    expect(await keyturn('revoke-tokens', clientId)).toEqual(revoked)
    expect(await keyturn('revoke-tokens', 'leaked@billing')).toEqual(revoked)
    expect(await terminal.json('users', 'revoke-tokens', clientId)).toEqual({})
  })
})

describe('keyturn users rename, enable, disable, client-credentials, bound-tokens, certificate-bound-tokens and delete', () => {
  it('change a user, and print it', async () => {
    const clientId = await createUser('before')
    await keyturn('rename', clientId, 'after it')
    await keyturn('client-credentials', clientId, 'off')
    await keyturn('bound-tokens', clientId, 'required')
    const printed = await keyturn('certificate-bound-tokens', clientId, 'on')
    expect(printed.stdout).toMatch(/^certificate bound tokens +true$/m)
    expect(await keyturn('disable', idOf(clientId))).toEqual(says(`disabled ${idOf(clientId)}`))
    const changed = await userOfTheApi(clientId)
    expect(changed).toMatchObject({ name: 'after it', boundTokensRequired: true, certificateBoundTokens: true })
    expect(changed).not.toHaveProperty('enabled', true)
    expect(changed).not.toHaveProperty('clientCredentialsEnabled', true)
    expect((await terminal.lines('users', 'list')).at(-1)).toBe(`${clientId}  false    after it`)

    expect(await keyturn('bound-tokens', clientId, 'optional')).toMatchObject({ code: 0 })
    expect(await keyturn('enable', clientId)).toEqual(says(`enabled ${clientId}`))
    expect(await keyturn('client-credentials', clientId, 'on')).toMatchObject({ code: 0 })
    expect(await userOfTheApi(clientId)).toMatchObject({ enabled: true, clientCredentialsEnabled: true })
    expect(await keyturn('delete', clientId)).toEqual(says(`deleted ${clientId}`))
    expect(await keyturn('show', clientId)).toEqual(
      refuses(`there is no service user "${idOf(clientId)}" (USER_NOT_FOUND)`),
    )
  })
})

describe('keyturn users grant and revoke', () => {
  it.each([
    ['--role', 'billing:reader', /^project roles +\S+:reader$/m],
    ['--role', 'other:a:b', /^project roles +\S+:a:b$/m],
    ['--scope', 'invoices:read', /^scopes +invoices:read$/m],
    ['--instance-role', 'IAM_OWNER', /^instance roles +IAM_OWNER$/m],
  ])('%s %s grants and takes away, also twice', async (option, value, shown) => {
    const clientId = await createUser('granted')
    const before = await userOfTheApi(clientId)
    for (const _ of [1, 2]) expect((await keyturn('grant', clientId, option, value)).stdout).toMatch(shown)
    expect(await terminal.json('users', 'grant', clientId, option, value)).toEqual({
      serviceUser: await userOfTheApi(clientId),
    })
    for (const _ of [1, 2]) expect((await keyturn('revoke', clientId, option, value)).stdout).not.toMatch(shown)
    expect(await userOfTheApi(clientId)).toEqual(before)
  })
})
