/**
 * The replica that delivers is killed: another one goes on, in order, and sends only the last event again.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type KeyturnProcess, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { startReceiver, status, verified, type WebhookReceiver } from '../support/webhook-receiver.ts'

const EVENTS = 30
const authority = createAuthority()

let env: Record<string, string>
let receiver: WebhookReceiver
let first: KeyturnProcess
let second: KeyturnProcess | undefined
let admin: Administration
beforeAll(async () => {
  receiver = await startReceiver(authority)
  env = {
    KEYTURN_DATABASE_URL: await newPostgresDatabase(),
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_OUTBOUND_NETWORKS: '127.0.0.1, ::1',
  }
  first = await startKeyturn({ env })
  admin = await administrationOf(first)
})
afterAll(async () => {
  await second?.stop()
  for (const server of [first, second]) if (server !== undefined) await removeFolder(server.dataDir)
  await receiver?.stop()
})

it('delivers every event in order over kill -9 of the replica that delivers', async () => {
  const { promise: halfway, resolve: arrive } = Promise.withResolvers<void>()
  receiver.answer((response, received, request) => {
    if (new Set(receiver.received.map(({ event }) => event.id)).size < EVENTS / 2) {
      status(204)(response, received, request)
      return
    }
    // It is not answered, so the replica is still at it when it is killed.
    arrive()
  })
  const { secret } = await admin.webhooks.createWebhook({
    name: 'siem',
    url: receiver.url,
    caCertificates: authority.cert,
    eventTypes: ['keyturn.iam.project.*'],
  })
  const subjects: string[] = []
  for (let made = 0; made < EVENTS; made += 1) {
    const { project } = await admin.projects.createProject({ name: `p-${made}` })
    subjects.push(`projects/${project!.projectId}`)
  }
  await halfway
  second = await startKeyturn({ env: { ...env, KEYTURN_BASE_URL: first.baseUrl } })
  await first.kill()
  receiver.answer(status(204))

  const sent = () => receiver.received.map(({ event }) => event.subject)
  await eventually(() => expect(sent()).toContain(subjects.at(-1)))
  expect([...new Set(sent())]).toEqual(subjects)
  const repeated = sent().filter((subject, position) => sent().indexOf(subject) !== position)
  expect(new Set(repeated)).toEqual(new Set([subjects[EVENTS / 2 - 1]]))
  for (const received of receiver.received) expect(verified(secret, received)).toEqual(received.event)
})
