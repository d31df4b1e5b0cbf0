import { generateKeyPairSync } from 'node:crypto'
import { afterAll, expect, it } from '@jest/globals'
import { type HttpsIssuer, json, jwtBy, newIssuerKey, startHttpsIssuer } from '../support/https-issuer.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { describeConsole } from './console-tests.ts'

const authority = createAuthority()

describeConsole(
  'the trusted issuers in the console',
  (test) => {
    const key = newIssuerKey('first')
    let issuer: HttpsIssuer
    afterAll(() => issuer?.stop())

    const dialog = () => test.page.getByRole('dialog')
    const button = (name: string) => test.page.getByRole('main').getByRole('button', { name, exact: true })
    const trusted = async () => (await test.owner.issuers.listTrustedIssuers({})).trustedIssuers
    const confirm = async (verb: string) => {
      await dialog().getByRole('button', { name: verb }).click()
      await dialog().waitFor({ state: 'detached' })
    }

    it('are trusted, changed and deleted, and say at each step how fetching their keys goes and whose JWTs count', async () => {
      issuer = await startHttpsIssuer(authority)
      await test.console.goTo('/issuers')
      await test.page.getByText('No issuer is trusted').waitFor()
      await button('Trust issuer').click()
      await dialog().getByLabel('Issuer', { exact: true }).fill(issuer.url)
      await dialog().getByLabel('Certificates of authorities').fill(authority.cert)
      await confirm('Trust issuer')
      await test.page.getByRole('heading', { name: issuer.url }).waitFor()
      await test.page.getByText(/The last fetch failed .*404/).waitFor()
      await test.page.getByText('cannot be fetched', { exact: true }).waitFor()
      issuer.publish(key)
      await button('Fetch keys now').click()
      await test.page.getByRole('table', { name: 'Public keys' }).getByText('first').waitFor()
      await test.page.getByText(/^fetched /).waitFor()
      expect(await test.page.getByText('The last fetch failed').count()).toBe(0)

      issuer.answer('/jwks', json({}, {}, 500))
      await button('Fetch keys now').click()
      await test.page.getByText('last fetch failed', { exact: true }).waitFor()
      await test.page.getByText(/The last fetch failed .*500/).waitFor()
      await test.page.getByRole('table', { name: 'Public keys' }).getByText('first').waitFor()
      issuer.publish(key)
      await button('Fetch keys now').click()
      await test.page.getByText('last fetch failed', { exact: true }).waitFor({ state: 'detached' })

      const warning = () => dialog().getByText('The keys before count no more')
      await button('Change').click()
      await dialog().getByLabel('Longest lifetime of its JWTs', { exact: true }).fill('2')
      expect(await warning().count()).toBe(0)
      await confirm('Save')
      await test.page.getByText('Its JWTs may live up to 2 h').waitFor()
      await test.page.getByRole('table', { name: 'Public keys' }).getByText('first').waitFor()
      await button('Change').click()
      await dialog().getByLabel('Its keys come from').selectOption('jwksUrl')
      await dialog().getByLabel('Address of the JWKS').fill(`${issuer.url}/jwks`)
      await warning().waitFor()
      await confirm('Save')
      await test.page.getByText(`JWKS at ${issuer.url}/jwks`).waitFor()
      await test.page.getByRole('table', { name: 'Public keys' }).getByText('first').waitFor()
      expect(await trusted()).toMatchObject([
        { maxLifetimeSeconds: 7200, keys: { source: { case: 'jwksUrl' }, caCertificates: authority.cert } },
      ])

      await test.console.goTo('/issuers')
      await button('Trust issuer').click()
      await dialog().getByLabel('Issuer', { exact: true }).fill(issuer.url)
      await dialog().getByRole('button', { name: 'Trust issuer' }).click()
      await dialog().getByText('TRUSTED_ISSUER_TAKEN').waitFor()
      await dialog().getByLabel('Its keys come from').selectOption('jwks')
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      await dialog()
        .getByLabel('Public keys')
        .fill(JSON.stringify({ keys: [privateKey.export({ format: 'jwk' })] }))
      await dialog().getByText('This has a private key. It is not sent').waitFor()
      expect(await dialog().getByRole('button', { name: 'Trust issuer' }).isDisabled()).toBe(true)
      await dialog().getByRole('button', { name: 'Cancel' }).click()
      expect(await trusted()).toHaveLength(1)

      const robot = await test.instance.addRobot()
      await test.console.goTo(`/users/${robot.userId}`)
      const identities = test.page.getByRole('region', { name: 'Federated identities' })
      await identities.getByRole('button', { name: 'Add identity' }).click()
      await dialog().getByLabel('Subject').fill('repo:shop')
      await dialog().getByRole('button', { name: 'Add claim' }).click()
      await dialog().getByLabel('Claim 1', { exact: true }).fill('/ref')
      await dialog().getByLabel('Value of claim 1').fill('refs/heads/main')
      await confirm('Add identity')
      await identities.getByText('/ref = refs/heads/main').waitFor()
      const answerTo = async (claims: object) => {
        const response = await test.instance.postForm({
          grant_type: 'client_credentials',
          client_id: robot.clientId,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: await jwtBy(key, {
            iss: issuer.url,
            sub: 'repo:shop',
            aud: test.server.baseUrl,
            ...claims,
          }),
        })
        return response.status
      }
      expect(await answerTo({ ref: 'refs/heads/main' })).toBe(200)
      expect(await answerTo({ ref: 'refs/heads/other' })).toBe(401)

      await test.page
        .getByRole('region', { name: 'Federated identities' })
        .getByRole('link', { name: issuer.url })
        .click()
      await button('Delete').click()
      await dialog().getByText('The federated identities that name it are deleted with it').waitFor()
      await confirm('Delete for good')
      await test.page.getByText('No issuer is trusted').waitFor()
      expect(await trusted()).toEqual([])
    })
  },
  { KEYTURN_ISSUER_NETWORKS: '127.0.0.0/8, ::1' },
)
