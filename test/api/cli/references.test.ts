import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTerminal, refuses, says, type Terminal } from '../../support/terminal.ts'

let terminal: Terminal
let clientId: string
let userId: string
beforeAll(async () => {
  terminal = await openTerminal()
  await terminal.lines('projects', 'create', 'shop')
  await terminal.lines('projects', 'create', 'other')
  await terminal.lines('projects', 'scopes', 'add', 'shop', 'orders:read')
  for (const name of ['checkout', 'a b@c', 'twin', 'twin']) {
    await terminal.lines('users', 'create', name, '--project', 'shop')
  }
  const { serviceUsers } = await terminal.json<{ serviceUsers: { userId: string; clientId: string }[] }>(
    ...['users', 'list', '--project', 'shop'],
  )
  const [checkout] = serviceUsers
  ;({ clientId, userId } = checkout!)
})
afterAll(() => terminal?.close())

describe('a user', () => {
  it('goes by name@project wherever its id does', async () => {
    expect((await terminal.lines('users', 'show', 'checkout@shop'))[1]).toMatch(new RegExp(` ${clientId}$`))
    expect((await terminal.lines('users', 'show', 'a b@c@shop'))[2]).toMatch(/^name +a b@c$/)
    expect(await terminal.run('users', 'disable', 'checkout@shop')).toEqual(says('disabled checkout@shop'))
    expect(await terminal.run('users', 'enable', 'checkout@shop')).toEqual(says('enabled checkout@shop'))
    expect(await terminal.run('users', 'client-credentials', 'checkout@shop', 'on')).toMatchObject({ code: 0 })
    expect(await terminal.run('users', 'grant', 'checkout@shop', '--scope', 'orders:read')).toMatchObject({ code: 0 })
    expect(await terminal.run('users', 'revoke', 'checkout@shop', '--scope', 'orders:read')).toMatchObject({ code: 0 })

    const generated = await terminal.json<{ secret: { secretId: string } }>('secrets', 'generate', 'checkout@shop')
    const { secretId } = generated.secret
    expect((await terminal.lines('secrets', 'list', 'checkout@shop'))[1]).toMatch(secretId)
    expect(await terminal.run('secrets', 'deactivate', 'checkout@shop', secretId)).toEqual(
      says(`deactivated ${secretId}`),
    )
    expect(await terminal.run('secrets', 'delete', 'checkout@shop', secretId)).toEqual(says(`deleted ${secretId}`))

    const token = ['users', 'tokens', 'create', 'checkout@shop', '--expires', '1h']
    const { personalAccessToken } = await terminal.json<{ personalAccessToken: { tokenId: string } }>(...token)
    const { tokenId } = personalAccessToken
    expect((await terminal.lines('users', 'tokens', 'list', 'checkout@shop'))[1]).toMatch(tokenId)
    expect(await terminal.run('users', 'tokens', 'revoke', 'checkout@shop', tokenId)).toEqual(
      says(`revoked ${tokenId}`),
    )
    expect(await terminal.lines('users', 'keys', 'list', 'checkout@shop')).toHaveLength(1)

    const audited = async (...args: string[]) => (await terminal.json<{ events?: object[] }>('audit', ...args)).events
    expect(await audited('--resource', 'users/checkout@shop')).toEqual(await audited('--resource', `users/${userId}`))
    expect(await audited('--resource', `users/checkout@shop/secrets/${secretId}`)).toHaveLength(3)
    expect(await audited('--actor', 'checkout@shop')).toBeUndefined()

    expect(await terminal.run('users', 'rename', 'checkout@shop', 'till')).toMatchObject({ code: 0 })
    expect(await terminal.run('users', 'delete', 'till@shop')).toEqual(says('deleted till@shop'))
  })

  it('that does not exist, or is one of several, is not guessed', async () => {
    expect(await terminal.run('users', 'show', 'nobody@shop')).toEqual(
      refuses('there is no service user "nobody" in the project shop: "keyturn users list" prints those that exist'),
    )
    expect(await terminal.run('users', 'delete', 'twin@nowhere')).toEqual(
      refuses('there is no project "nowhere": "keyturn projects list" prints those that exist'),
    )
    expect(await terminal.run('users', 'delete', 'twin@shop')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^keyturn: 2 service users in the project shop have the name "twin": use the client ID, \S+@shop or \S+@shop\n$/,
      ),
    })
  })
})
