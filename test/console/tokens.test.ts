import { expect, it } from '@jest/globals'
import { describeConsole } from './console-tests.ts'

describeConsole('a token in the console', (test) => {
  const paste = async (token: string) => {
    await test.console.goTo('/tokens')
    await test.page.getByLabel('Access token').fill(token)
  }
  const verdict = (text: string) =>
    test.page.getByRole('region', { name: 'Would it verify now?' }).getByText(text, { exact: true })

  /** What the page sends from now on. */
  const sentRequests = () => {
    const sent: string[] = []
    test.page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    return sent
  }

  it('is decoded and verified with the published keys, and shown to Keyturn alone', async () => {
    const sent = sentRequests()
    await paste(test.owner.token)
    await verdict('yes').waitFor()
    await test.page.getByText('says that it is active: not revoked, and its user is enabled').waitFor()
    await test.page.getByRole('region', { name: 'Claims' }).getByText('client_id').waitFor()
    const [, claims = ''] = test.owner.token.split('.')
    expect(sent.filter((request) => request.includes(claims))).toEqual([
      `${test.server.baseUrl}/console/api/iam.user.v2.ServiceUserService/IntrospectToken ${JSON.stringify({ token: test.owner.token })}`,
    ])
    expect(sent.some((request) => request.includes('/.well-known/openid-configuration/jwks'))).toBe(true)
  })

  it('does not verify when it was altered, and is sent nowhere then', async () => {
    const sent = sentRequests()
    const [header, , signature] = test.owner.token.split('.')
    const claims = Buffer.from(JSON.stringify({ iss: test.server.baseUrl, exp: 2 ** 40 })).toString('base64url')
    await paste(`${header}.${claims}.${signature}`)
    await verdict('no').waitFor()
    await test.page.getByText('is wrong: the token was altered').waitFor()
    expect(sent.filter((request) => request.includes(claims))).toEqual([])
  })

  const tokenOf = (claims: string) =>
    `${Buffer.from('{"alg":"RS256","kid":"k"}').toString('base64url')}.${Buffer.from(claims).toString('base64url')}.AAAA`

  it.each([
    ['a date after all dates', `{"sub":"late","exp":${8.64e12 + 1}}`],
    ['a value that is nested deeply', `{"sub":"deep","a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('is shown with %s, and without parts of the token before', async (_, claims) => {
    const [card, input] = [test.page.getByRole('region', { name: 'Claims' }), test.page.getByLabel('Access token')]
    await paste(test.owner.token)
    await verdict('yes').waitFor()
    await input.fill(tokenOf(claims))
    await card.getByText(JSON.parse(claims.replace(/"a":.*/, '"a":0}')).sub, { exact: true }).waitFor()
    await verdict('no').waitFor()
    expect(await card.getByText('client_id').count()).toBe(0)
  })

  it('is shown as refused by Keyturn as soon as its user is disabled, and what accepts it still', async () => {
    const robot = await test.instance.addRobot()
    await paste(await test.instance.accessToken(robot, 'openid'))
    await verdict('yes').waitFor()
    await test.owner.users.disableServiceUser({ userId: robot.userId })
    await verdict('not at Keyturn').waitFor()
    await test.page.getByText('the service user of the access token is disabled or has been deleted').waitFor()
    await test.page.getByText('Services that verify tokens themselves accept it').waitFor()
  })

  it('is got for a service user without its secret, with one that is deleted at once', async () => {
    const robot = await test.instance.addRobot()
    const { secrets: before } = await test.owner.users.listClientSecrets({ userId: robot.userId })
    await test.console.goTo(`/users/${robot.userId}`)
    await test.page.getByRole('link', { name: 'Get a token' }).click()
    const dialog = test.page.getByRole('dialog')
    expect(await dialog.getByLabel('Service user').inputValue()).toBe(robot.clientId)
    await dialog.getByRole('button', { name: 'Get token' }).click()
    await verdict('yes').waitFor()
    const [, claims = ''] = (await test.page.getByLabel('Access token').inputValue()).split('.')
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ client_id: robot.clientId })
    const { secrets } = await test.owner.users.listClientSecrets({ userId: robot.userId })
    expect(secrets.map(({ secretId }) => secretId)).toEqual(before.map(({ secretId }) => secretId))
    expect(await test.page.content()).not.toContain('ktn_cs_')
    const { events } = await test.owner.audit.listAuditEvents({ resource: `users/${robot.userId}/secrets` })
    expect(events.map(({ action }) => action.split('/').at(-1))).toEqual(['DeleteClientSecret', 'GenerateClientSecret'])
  })

  it('is not got for a user who may not have one, and leaves no secret behind', async () => {
    const robot = await test.instance.addRobot()
    const { userId } = robot
    const updateMask = { paths: ['client_credentials_enabled'] }
    await test.owner.users.updateServiceUser({ userId, clientCredentialsEnabled: false, updateMask })
    const { secrets: before } = await test.owner.users.listClientSecrets({ userId })
    await test.console.goTo('/tokens')
    await test.page.getByRole('button', { name: 'Get a token' }).click()
    const dialog = test.page.getByRole('dialog')
    await dialog.getByLabel('Service user').fill(userId)
    await dialog.getByRole('button', { name: 'Get token' }).click()
    await dialog.getByText('The token endpoint refused').waitFor()
    const { secrets } = await test.owner.users.listClientSecrets({ userId })
    expect(secrets).toHaveLength(before.length)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  it.each(['RSA 2048, SHA-256 (RS256)', 'ECDSA P-256 (ES256)', 'Ed25519 (EdDSA)'])(
    'verifies with a key of the kind %s',
    async (kind) => {
      await test.console.goTo('/keys')
      await test.page.getByRole('button', { name: 'Create key' }).click()
      await test.page.getByLabel('Kind of key').selectOption({ label: kind })
      await test.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await test.page.getByRole('status').getByText('is created and published').waitFor()
      const { webKeys } = await test.owner.keys.listWebKeys({})
      await test.owner.keys.activateWebKey({ keyId: webKeys.at(-1)!.keyId })
      const { token_endpoint, client_id, client_secret } = await test.server.admin()
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope: 'openid' })
      const response = await fetch(token_endpoint, { method: 'POST', body })
      await paste(((await response.json()) as { access_token: string }).access_token)
      await verdict('yes').waitFor()
    },
  )

  it('is said to be none if it is none', async () => {
    await paste('ktn_cs_nothing')
    await test.page.getByText('This is no JWT but a secret of Keyturn').waitFor()
  })
})
