/**
 * When events are delivered, and what that asks of the database: a real database and receiver, and time that the test lets pass.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createWebhookAttempts } from '../../../src/app/events/webhook-attempts.ts'
import { WebhookDeliverer } from '../../../src/app/events/webhook-deliverer.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createWebhookSigner } from '../../../src/crypto/webhook-signer.ts'
import { addWebhook } from '../../../src/domain/events/webhook.ts'
import type { WebhookStore } from '../../../src/domain/ports/webhooks.ts'
import { createAddressPolicy } from '../../../src/outbound/address-policy.ts'
import { createSendHttps } from '../../../src/outbound/https-request.ts'
import { createWebhookSender } from '../../../src/outbound/webhook-sender.ts'
import { createAuditReader } from '../../../src/storage/audit/audit-reader.ts'
import { createAuditLog } from '../../../src/storage/events/audit-log.ts'
import { createWebhookStore } from '../../../src/storage/events/webhook-store.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { anAuditEntry, anEntry } from '../../support/audit-entry.ts'
import { eventually } from '../../support/eventually.ts'
import { createRecordingLog } from '../../support/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { allEventsReadable } from '../../support/readable-events.ts'
import { createAuthority } from '../../support/server-certificates.ts'
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts'

const START = new Date('2026-11-23T08:00:00Z')
const authority = createAuthority()
const signer = createWebhookSigner(parseMasterKeys(generateMasterKey()))

let database: Database
let receiver: WebhookReceiver
let clock: ManualClock
let version: number
let started: WebhookDeliverer[]

beforeAll(async () => {
  database = openDatabase({ url: await newPostgresDatabase(), log: createRecordingLog() })
  await migrate(database)
})
beforeEach(async () => {
  started = []
  version = 1
  clock = new ManualClock()
  receiver = await startReceiver(authority)
  await database.db.deleteFrom('webhooks').execute()
})
afterEach(async () => {
  for (const deliverer of started) await deliverer.stop()
  await receiver.stop()
})
afterAll(() => database?.close())

const now = () => new Date(START.getTime() + clock.monotonic())

/** Changes webhooks, as another process does, which raises the version. */
async function change(decide: Parameters<WebhookStore['change']>[1]): Promise<void> {
  await createWebhookStore(database).change(anEntry('change'), decide)
  version += 1
}

async function create(): Promise<string> {
  const webhookId = randomUUID()
  const { sealed } = await signer.generateSecret(webhookId)
  const position = await createAuditReader(database).latest()
  const facts = {
    webhookId,
    name: `hook-${webhookId}`,
    url: receiver.url,
    caCertificates: authority.cert,
    filter: { types: ['keyturn.wanted'], resources: [] },
    sealedSecret: sealed,
    position,
  }
  await change((webhooks, moment) => ({ next: addWebhook(webhooks, facts, moment), result: null }))
  return webhookId
}

/** Writes an event that can be read. */
async function write(action: string): Promise<void> {
  await createAuditLog(database).refuse(anAuditEntry(action), 'no')
  await allEventsReadable(database)
}

/** A replica with a deliverer, and how often it has asked the database. */
function startDeliverer(store: WebhookStore = createWebhookStore(database)) {
  const reader = createAuditReader(database)
  const asked = { count: 0 }
  const log = createRecordingLog()
  const sendHttps = createSendHttps({
    allows: createAddressPolicy(['127.0.0.1', '::1']),
    setting: 'SETTING',
    authorityHint: '',
  })
  const deliverer = new WebhookDeliverer({
    store: {
      ...store,
      list: () => {
        asked.count += 1
        return store.list()
      },
    },
    reader: {
      ...reader,
      latest: () => {
        asked.count += 1
        return reader.latest()
      },
    },
    send: createWebhookAttempts({
      signer,
      sender: createWebhookSender(sendHttps),
      issuer: 'https://id.example',
      now,
      log,
    }),
    replica: {
      isWritable: () => true,
      refreshOrLog: async () => {},
    },
    version: () => version,
    clock,
    now,
    newId: randomUUID,
    log,
  })
  deliverer.start()
  started.push(deliverer)
  /** Lets seconds pass, one after the other. */
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 1) {
      clock.advance(1000)
      await deliverer.settled()
    }
  }
  return { deliverer, asked, log, pass }
}

describe('a deliverer', () => {
  it('asks twice a second while one is, and delivers what is new within a second', async () => {
    await create()
    const { asked, pass, deliverer } = startDeliverer()
    await pass(10)
    expect(asked.count).toBe(20)
    for (const action of ['wanted', 'other', 'wanted']) await write(action)
    await pass(1)
    expect(receiver.received.map(({ event }) => event.type)).toEqual(['keyturn.wanted', 'keyturn.wanted'])
    expect(deliverer.status.attempts).toEqual({ delivered: 2, failed: 0, given_up: 0 })
    expect(deliverer.status.webhooks).toMatchObject([{ waiting: 0 }])
    await pass(1)
    expect(deliverer.status.webhooks).toMatchObject([{ behindSeconds: 0, waiting: 0 }])
  })

  it('tries again when the wait is over, and not before, and says for how long events wait', async () => {
    await create()
    receiver.answer(status(503))
    const { pass, deliverer } = startDeliverer()
    for (let written = 0; written < 3; written += 1) await write('wanted')
    await pass(1)
    expect(receiver.received).toHaveLength(1)
    await pass(3)
    expect(receiver.received).toHaveLength(1)
    await pass(3)
    expect(receiver.received).toHaveLength(2)
    expect(deliverer.status).toMatchObject({ attempts: { failed: 2 }, webhooks: [{ waiting: 3 }] })
    receiver.answer(status(204))
    await pass(11)
    expect(receiver.accepted).toHaveLength(3)
  })

  it('claims a webhook as a change leaves it that is under way', async () => {
    const webhookId = await create()
    const store = createWebhookStore(database)
    const { db } = database
    const claimed = await db.transaction().execute(async (trx) => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
      // As a change does: it locks webhooks when it reads them.
      await trx.selectFrom('webhooks').select('webhook_id').forUpdate().execute()
      const claiming = store.claim(webhookId, ({ delivery }) => ({ ...delivery, lastSuccessAt: now() }))
      await eventually(async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        expect(rows).toHaveLength(1)
      })
      await trx.updateTable('webhooks').set({ url: 'https://moved.example/', sealed_secret: 'rotated' }).execute()
      return { claiming }
    })
    expect(await claimed.claiming).toMatchObject({ url: 'https://moved.example/', secrets: { current: 'rotated' } })
  })

  it('leaves a webhook to the process that delivers to it, until that has been silent for 30 s', async () => {
    const webhookId = await create()
    await write('wanted')
    await createWebhookStore(database).claim(webhookId, ({ delivery }) => ({
      ...delivery,
      lease: { id: randomUUID(), until: new Date(now().getTime() + 30_000) },
    }))
    const { pass } = startDeliverer()
    await pass(29)
    expect(receiver.received).toEqual([])
    await pass(2)
    expect(receiver.accepted).toHaveLength(1)
  })
})
