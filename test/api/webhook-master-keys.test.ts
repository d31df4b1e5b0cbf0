/**
 * The signing secrets of webhooks while the master key is rotated.
 */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { type Administration, administrationOf, administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeServers, runKeyturnInProcess, startKeyturnInProcess } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { idOf, NEWER, OLDER } from '../support/rotated-instance.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { startReceiver, verified, type WebhookReceiver } from '../support/webhook-receiver.ts'

const authority = createAuthority()

let postgres: TestPostgres
let receiver: WebhookReceiver
let env: Record<string, string>
let admin: Administration
const running: Keyturn[] = []

beforeAll(async () => {
  postgres = sharedPostgres()
  receiver = await startReceiver(authority)
  const url = await postgres.createMigratedDatabase()
  env = { KEYTURN_DATABASE_URL: url, KEYTURN_OUTBOUND_NETWORKS: '127.0.0.1, ::1' }
})
afterEach(() => removeServers(...running.splice(0)))
afterAll(async () => {
  await receiver?.stop()
  await postgres?.stop()
})

async function start(masterKeys: string): Promise<Keyturn> {
  const server = await startKeyturnInProcess({ env: { ...env, KEYTURN_MASTER_KEYS: masterKeys } })
  running.push(server)
  return server
}

it('are sealed anew with the private keys, sign on with the new master key alone, and stay the same', async () => {
  const older = await start(`${OLDER},${NEWER}`)
  const credentials = await older.admin()
  admin = await administrationOf(older)
  const { webhook, secret: old } = await admin.webhooks.createWebhook({
    name: 'siem',
    url: receiver.url,
    caCertificates: authority.cert,
    eventTypes: ['keyturn.iam.project.*'],
  })
  const { webhookId } = webhook!
  const { secret } = await admin.webhooks.rotateWebhookSecret({ webhookId })
  const run = (command: string, masterKeys: string) =>
    runKeyturnInProcess(['master-key', command], { ...env, KEYTURN_MASTER_KEYS: masterKeys })

  const stored = JSON.stringify(await postgres.query('select * from webhooks', [], env.KEYTURN_DATABASE_URL))
  expect(stored).toContain(webhookId)
  for (const each of [old, secret]) expect(stored).not.toContain(each.replace('whsec_', '').slice(0, 16))

  const rotated = await run('rotate', `${NEWER},${OLDER}`)
  expect(rotated).toMatchObject({ code: 0, stderr: '' })
  expect(rotated.stdout).toContain(`The master key ${idOf(OLDER)} seals nothing any more`)
  const { events } = await admin.audit.listAuditEvents({ resource: `webhooks/${webhookId}` })
  expect(events.filter(({ action }) => action === 'master_key/reseal')).toHaveLength(2)
  await running.pop()!.stop()

  const newer = await start(NEWER)
  const { stdout } = await run('status', NEWER)
  expect(stdout).not.toContain('Cannot be opened')
  const token_endpoint = `${newer.listenUrl}/oauth/v2/token`
  admin = await administrationOf({ ...newer, admin: async () => ({ ...credentials, token_endpoint }) })
  await admin.projects.createProject({ name: 'shop' })
  await eventually(() => expect(receiver.received).toHaveLength(1))
  const [got] = receiver.received
  for (const each of [old, secret]) expect(verified(each, got!)).toEqual(got!.event)
})

it('that no master key opens are named, and nothing is sent unsigned', async () => {
  await postgres.query('delete from webhooks', [], env.KEYTURN_DATABASE_URL)
  const server = await start(NEWER)
  admin = administrationWith(server, admin.token)
  const { webhook } = await admin.webhooks.createWebhook({ name: 'other', url: receiver.url })
  const foreign = await postgres.query<{ sealed_integrity_key: string }>(
    'select sealed_integrity_key from instance',
    [],
    env.KEYTURN_DATABASE_URL,
  )
  const sealed = foreign[0]!.sealed_integrity_key
  await postgres.query('update webhooks set sealed_secret = $1', [sealed], env.KEYTURN_DATABASE_URL)
  const { webhookId } = webhook!
  const failure = 'is not sent to: the signing secret cannot be opened with the master keys'
  expect(await admin.webhooks.testWebhook({ webhookId })).toMatchObject({ delivered: false, failure })
  expect(server.output().stderr).toContain(
    `the signing secret of webhook ${webhookId} cannot be opened: it was sealed for something else`,
  )
})
