import { expect, it } from '@jest/globals'
import { describeConsole } from './console-tests.ts'

describeConsole('a token in the console', (test) => {
  const paste = async (token: string) => {
    await test.console.goTo('/tokens')
    await test.page.getByLabel('Access token').fill(token)
  }
  const verdict = (text: string) =>
    test.page.getByRole('region', { name: 'Would it verify now?' }).getByText(text, { exact: true })

  it('is decoded and verified with the published keys, and sent nowhere', async () => {
    const sent: string[] = []
    test.page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
    await paste(test.owner.token)
    await verdict('yes').waitFor()
    await test.page.getByRole('region', { name: 'Claims' }).getByText('client_id').waitFor()
    const [, claims = ''] = test.owner.token.split('.')
    expect(sent.filter((request) => request.includes(claims))).toEqual([])
    expect(sent.some((request) => request.includes('/.well-known/openid-configuration/jwks'))).toBe(true)
  })

  it('does not verify when it was altered', async () => {
    const [header, , signature] = test.owner.token.split('.')
    const claims = Buffer.from(JSON.stringify({ iss: test.server.baseUrl, exp: 2 ** 40 })).toString('base64url')
    await paste(`${header}.${claims}.${signature}`)
    await verdict('no').waitFor()
    await test.page.getByText('is wrong: the token was altered').waitFor()
  })

  it.each(['RSA 2048, SHA-256 (RS256)', 'ECDSA P-256 (ES256)', 'ECDSA P-521 (ES512)', 'Ed25519 (EdDSA)'])(
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
