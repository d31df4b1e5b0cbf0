import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { eventually } from '../support/eventually.ts'
import { type HttpsIssuer, newIssuerKey, startHttpsIssuer } from '../support/https-issuer.ts'
import { seedProject, seedSecret, seedUser } from '../support/seed.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { signIn } from './browser.ts'
import { type ConsoleTest, describeConsole } from './console-tests.ts'

/** Where the pictures of the documentation are written, as `npm run console:screenshots` wants it. Otherwise nothing is written. */
const FOLDER = process.env.KEYTURN_SCREENSHOTS

/** Keys with a past: one that was replaced days ago, one minutes ago, the active one, and a standby that is minutes old. */
async function seedKeys({ instance, owner }: ConsoleTest): Promise<void> {
  for (let count = 0; count < 2; count++) {
    const { webKey } = await owner.keys.createWebKey({ config: { config: { case: 'rsa', value: {} } } })
    await owner.keys.activateWebKey({ keyId: webKey!.keyId })
  }
  await owner.keys.createWebKey({ config: { config: { case: 'rsa', value: {} } } })
  const { webKeys } = await owner.keys.listWebKeys({})
  const [first, second, active, standby] = webKeys.map(({ keyId }) => keyId)
  const date = async (
    keyId: string | undefined,
    created: string,
    activated: string | null,
    deactivated: string | null,
  ) => {
    await sql`
      update web_keys set creation_date = clock_timestamp() - ${created}::interval,
        publication_date = case when state = 'initial' then clock_timestamp() - ${created}::interval end,
        activation_date = clock_timestamp() - ${activated}::interval,
        deactivation_date = clock_timestamp() - ${deactivated}::interval
      where key_id = ${keyId}`.execute(instance.database.db)
  }
  await date(first, '100 days', '93 days', '3 days')
  await date(second, '92 days', '3 days', '20 minutes')
  await date(active, '71 hours', '20 minutes', null)
  await date(standby, '2 minutes', null, null)
}

/** @returns The id of a user to show. */
async function seedUsers({ instance }: ConsoleTest): Promise<string> {
  const { database } = instance
  const project = await seedProject(database, { name: 'shop', roles: ['reader', 'writer'], scopes: ['orders:read'] })
  for (const name of ['invoices', 'nightly-export', 'warehouse']) await seedUser(database, { project, name })
  const projectRoles = { [project.projectId]: ['reader'] }
  const user = await seedUser(database, { project, name: 'checkout', projectRoles, customScopes: ['orders:read'] })
  for (let count = 0; count < 2; count++) await seedSecret(database, user.userId)
  await sql`
    update credentials set creation_date = creation_date - interval '80 days', last_use_date = clock_timestamp() - interval '4 hours',
      expiration_date = clock_timestamp() + interval '10 days'
    where credential_id = (select credential_id from credentials where user_id = ${user.userId} order by credential_id limit 1)`.execute(
    database.db,
  )
  await sql`
    update credentials set last_use_date = clock_timestamp() where user_id = ${user.userId} and expiration_date is null`.execute(
    database.db,
  )
  return user.userId
}

/** Another replica, and names for both that are not those of this machine. */
async function seedInstance({ instance, owner }: ConsoleTest): Promise<void> {
  const { db } = instance.database
  await instance.startReplica()
  await eventually(async () => expect((await owner.instance.getInstance({})).instance?.replicas).toHaveLength(2))
  await sql`
    update replicas r set host_name = 'keyturn-' || n.number
    from (select replica_id, row_number() over (order by start_date) - 1 as number from replicas) n
    where r.replica_id = n.replica_id`.execute(db)
}

const authority = createAuthority()

/** Issuers of three kinds: fetched, given, and one that cannot be reached. @returns The id of one to show. */
async function seedIssuers({ owner }: ConsoleTest, server: HttpsIssuer): Promise<string> {
  const [key, next] = [newIssuerKey('2026-10', { alg: 'ES256' }), newIssuerKey('2026-11', { alg: 'ES256' })]
  server.publish(key, next)
  const fetched = { source: { case: 'jwksUrl', value: `${server.url}/jwks` }, caCertificates: authority.cert } as const
  const given = { source: { case: 'jwks', value: JSON.stringify({ keys: [key.jwk] }) } } as const
  // A port that no server listens on.
  const unreached = { source: { case: 'spiffeBundleUrl', value: 'https://127.0.0.1:1/bundle' } } as const
  await owner.issuers.createTrustedIssuer({ issuer: 'https://kubernetes.default.svc.cluster.local', keys: given })
  await owner.issuers.createTrustedIssuer({ issuer: 'spiffe://shop.example', keys: unreached })
  const { trustedIssuer } = await owner.issuers.createTrustedIssuer({
    issuer: 'https://ci.shop.example',
    keys: fetched,
  })
  // Has their keys fetched.
  const { trustedIssuers } = await owner.issuers.listTrustedIssuers({})
  for (const { issuerId } of trustedIssuers) await owner.issuers.getTrustedIssuer({ issuerId })
  return trustedIssuer!.issuerId
}

/** Webhooks of three kinds: one that delivers, one that fails, and one that is disabled. @returns The id of the first. */
async function seedWebhooks({ owner }: ConsoleTest, receiver: WebhookReceiver): Promise<string> {
  const { cert: caCertificates } = authority
  const [url, lost] = ['https://siem.shop.example/events', 'https://127.0.0.1:1/events']
  const { webhook } = await owner.webhooks.createWebhook({ name: 'siem', url: receiver.url, caCertificates })
  await owner.webhooks.createWebhook({
    name: 'tickets',
    url: lost,
    eventTypes: ['keyturn.rotation.*', 'keyturn.iam.*'],
  })
  const other = await owner.webhooks.createWebhook({ name: 'old-siem', url })
  await owner.webhooks.updateWebhook({
    webhookId: other.webhook!.webhookId,
    enabled: false,
    updateMask: { paths: ['enabled'] },
  })
  await eventually(async () => {
    const { webhooks } = await owner.webhooks.listWebhooks({})
    const [, siem, tickets] = webhooks
    expect([siem?.delivery?.lastSuccessDate, tickets?.delivery?.lastFailureDate]).not.toContain(undefined)
  })
  return webhook!.webhookId
}

describeConsole(
  'the pages of the console',
  (test) => {
    let issuerServer: HttpsIssuer
    let webhookReceiver: WebhookReceiver
    beforeAll(async () => {
      issuerServer = await startHttpsIssuer(authority)
      webhookReceiver = await startReceiver(authority)
    })
    afterAll(async () => {
      await issuerServer?.stop()
      await webhookReceiver?.stop()
    })

    it.each(['light', 'dark'] as const)('are drawn in %s', async (colorScheme) => {
      const { owner, browser, server } = test
      const { serviceUsers } = await owner.users.listServiceUsers({})
      let userId = serviceUsers.find(({ name }) => name === 'checkout')?.userId
      if (userId === undefined) {
        userId = await seedUsers(test)
        await seedKeys(test)
        await seedInstance(test)
        // The token of the administration was signed by a key that signs no more, and is as good as before.
        await owner.projects.createProject({ name: 'billing' })
      }
      const { trustedIssuers } = await owner.issuers.listTrustedIssuers({})
      const issuerId = trustedIssuers[0]?.issuerId ?? (await seedIssuers(test, issuerServer))
      const { webhooks } = await owner.webhooks.listWebhooks({})
      const webhookId =
        webhooks.find(({ name }) => name === 'siem')?.webhookId ?? (await seedWebhooks(test, webhookReceiver))
      const { projects } = await owner.projects.listProjects({})
      const shop = projects.find(({ name }) => name === 'shop')!
      const { page, faults, close } = await signIn(browser, server, {
        user: owner,
        colorScheme,
        viewport: { width: 1280, height: 860 },
      })
      const places = {
        keys: '/keys',
        users: '/users',
        user: `/users/${userId}`,
        project: `/projects/${shop.projectId}`,
        issuers: '/issuers',
        issuer: `/issuers/${issuerId}`,
        webhooks: '/webhooks',
        webhook: `/webhooks/${webhookId}`,
        audit: '/audit',
        tokens: '/tokens',
        instance: '/instance',
      }
      for (const [name, place] of Object.entries(places)) {
        await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`)
        await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor()
        if (name === 'tokens') {
          await page.getByLabel('Access token').fill(owner.token)
          await page.getByText('yes', { exact: true }).waitFor()
        }
        await page
          .getByText(/^(Loading…|not known yet)$/)
          .first()
          .waitFor({ state: 'detached' })
        if (FOLDER === undefined) continue
        mkdirSync(FOLDER, { recursive: true })
        await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) })
      }
      expect(faults).toEqual([])
      await close()
    })
  },
  { KEYTURN_ISSUER_NETWORKS: '127.0.0.0/8, ::1', KEYTURN_OUTBOUND_NETWORKS: '127.0.0.0/8, ::1' },
)
