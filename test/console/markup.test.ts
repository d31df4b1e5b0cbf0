import { expect, it } from '@jest/globals'
import { SERVICE_AUDIENCE_SCOPE } from '../../src/domain/identities/token-grant.ts'
import { administrationWith } from '../support/administration.ts'
import { json, newIssuerKey, startHttpsIssuer } from '../support/https-issuer.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { signIn } from './browser.ts'
import { describeConsole } from './console-tests.ts'

const MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(1)>'

/** What each name allows of it. Projects and roles allow none of these characters. */
const NAMES = {
  user: MARKUP,
  scope: "<img/src=x/onerror=alert(1)>'",
  audience: "https://example.com/'onload=alert(1)",
  claims: JSON.stringify({ [`${MARKUP} claim`]: [`${MARKUP} of a list`, { deep: `${MARKUP} value` }] }),
  subject: `${MARKUP} subject`,
  identityAudience: `${MARKUP} audience`,
  pointer: `/<img src=x onerror=alert(1)>`,
  claimValue: `${MARKUP} claim value`,
  issuer: "https://localhost/<script>alert(1)</script>'onload=alert(1)",
  kid: `${MARKUP} kid`,
  subjectDn: 'CN=\\<img src\\=x onerror\\=alert(1)\\>',
  sanUri: "https://example.org/'onload=alert(1)",
} as const

/** With a zero-width space, a change of direction, a tag and a variation selector. */
const UNSEEN = 'adm\u200bin \u202eresu\u2069\u{e0041}\ufe0f'
const SEEN = String.raw`adm\u200bin \u202eresu\u2069\udb40\udc41\ufe0f`

const authority = createAuthority()

describeConsole(
  'names that are markup in the console',
  (test) => {
    const main = () => test.page.getByRole('main')
    const shows = async (...texts: readonly string[]) => {
      for (const text of texts) await main().getByText(text).first().waitFor()
      await test.page.getByText('Loading…').first().waitFor({ state: 'detached' })
      expect(await main().locator('script, img').count()).toBe(0)
    }

    it('are shown as they are, wherever a user can choose them', async () => {
      const { owner, page, console } = test
      const { project } = await owner.projects.createProject({ name: 'markup' })
      const { projectId } = project!
      await owner.projects.addProjectScope({ projectId, scope: NAMES.scope })
      await owner.projects.addProjectAudience({ projectId, audience: NAMES.audience })
      const { serviceUser } = await owner.users.createServiceUser({
        projectId,
        name: NAMES.user,
        clientCredentialsEnabled: true,
      })
      const { userId, clientId } = serviceUser!
      await owner.users.grantScope({ userId, scope: NAMES.scope })
      const updateMask = { paths: ['token_claims'] }
      await owner.users.updateServiceUser({ userId, tokenClaims: NAMES.claims, updateMask })
      const match = (value: { case: 'subjectDn' | 'sanUri'; value: string }) => ({ userId, match: { match: value } })
      await owner.certificates.addClientCertificate(match({ case: 'subjectDn', value: NAMES.subjectDn }))
      await owner.certificates.addClientCertificate(match({ case: 'sanUri', value: NAMES.sanUri }))
      const keys = { source: { case: 'jwks', value: JSON.stringify({ keys: [newIssuerKey(NAMES.kid).jwk] }) } } as const
      const { trustedIssuer } = await owner.issuers.createTrustedIssuer({ issuer: NAMES.issuer, keys })
      const { issuerId } = trustedIssuer!
      const claims = [{ pointer: NAMES.pointer, value: NAMES.claimValue }]
      const { subject, identityAudience: audience } = NAMES
      await owner.identities.addFederatedIdentity({ userId, issuerId, subject, audience, claims })

      await console.goTo(`/users?search=${encodeURIComponent(NAMES.user.slice(0, 20))}`)
      await shows(NAMES.user)
      await main().getByRole('link', { name: NAMES.user }).click()
      await shows(NAMES.user, NAMES.scope, NAMES.subject, NAMES.identityAudience, NAMES.claimValue, NAMES.issuer)
      await shows(NAMES.claims, 'onerror', NAMES.sanUri)
      await console.goTo(`/projects/${projectId}`)
      await shows(NAMES.scope, NAMES.audience)
      await console.goTo('/issuers')
      await shows(NAMES.issuer)
      await main().getByRole('link', { name: NAMES.issuer }).click()
      await shows(NAMES.issuer, NAMES.kid)
      await console.goTo(`/audit?resource=${encodeURIComponent(`projects/${projectId}`)}`)
      await shows(NAMES.scope)
      await console.goTo(`/tokens?user=${encodeURIComponent(clientId)}`)
      await page.getByRole('dialog').getByText(`This is ${NAMES.user}.`).waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Get token' }).click()
      await shows('yes', `${MARKUP} claim`, `${MARKUP} of a list`)
    })

    it('are shown as they are, of the person who is signed in and of the user that is asked about', async () => {
      const user = await test.instance.addRobot({ name: MARKUP, instanceRoles: ['IAM_OWNER'] })
      const token = await test.instance.accessToken(user, SERVICE_AUDIENCE_SCOPE)
      const own = await signIn(test.browser, test.server, { user: administrationWith(test.server, token) })
      await own.page.getByRole('banner').getByText(MARKUP, { exact: true }).waitFor()
      await own.goTo('/instance')
      await own.page.getByRole('row').getByText(MARKUP, { exact: true }).first().waitFor()
      await own.goTo(`/users/${user.userId}`)
      await own.page.getByRole('button', { name: 'Disable' }).click()
      await own.page.getByRole('dialog').getByText(MARKUP).first().waitFor()
      expect(own.faults).toEqual([])
      await own.close()
    })

    it('have characters that cannot be seen as escape sequences, and keep them where they are changed or copied', async () => {
      const { owner, page, console } = test
      const { projectId } = (await owner.projects.createProject({ name: 'unseen' })).project!
      const { serviceUser } = await owner.users.createServiceUser({ projectId, name: UNSEEN })
      await console.goTo(`/users?project=${projectId}`)
      await main().getByRole('link', { name: SEEN, exact: true }).click()
      await page.getByRole('heading', { level: 1, name: SEEN, exact: true }).waitFor()
      expect(await main().textContent()).not.toMatch(/\p{Default_Ignorable_Code_Point}/u)
      await main().getByRole('button', { name: 'Change settings' }).click()
      expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).toBe(UNSEEN)
      await page.getByRole('dialog').getByLabel('Only bound tokens').check()
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const { userId } = serviceUser!
      expect((await owner.users.getServiceUser({ userId })).serviceUser?.name).toBe(UNSEEN)
      const { trustedIssuers } = await owner.issuers.listTrustedIssuers({})
      const { issuerId } = trustedIssuers[0]!
      await owner.identities.addFederatedIdentity({ userId, issuerId, subject: UNSEEN, audience: '' })
      await main()
        .getByRole('button', { name: `Remove ${SEEN}` })
        .waitFor()
    })

    it('are shown as they are, when an issuer is the one who chose them', async () => {
      const issuer = await startHttpsIssuer(authority)
      try {
        issuer.answer('/jwks', json({ keys: [newIssuerKey(NAMES.kid).jwk] }))
        const keys = {
          source: { case: 'jwksUrl', value: `${issuer.url}/jwks` },
          caCertificates: authority.cert,
        } as const
        const { trustedIssuer } = await test.owner.issuers.createTrustedIssuer({ issuer: issuer.url, keys })
        await test.console.goTo(`/issuers/${trustedIssuer!.issuerId}`)
        await shows(NAMES.kid)
        issuer.answer('/jwks', json({ error: MARKUP }, { 'content-type': `text/html; ${MARKUP.replaceAll('"', "'")}` }))
        await main().getByRole('button', { name: 'Fetch keys now' }).click()
        await shows('The last fetch failed')
      } finally {
        await issuer.stop()
      }
    })
  },
  { KEYTURN_ISSUER_NETWORKS: '127.0.0.0/8, ::1' },
)
