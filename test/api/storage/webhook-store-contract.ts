/**
 * The part of the contract about `WebhookStore`. How events are delivered with it is in `test/api/app/webhook-deliverer.test.ts`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { deliveryFrom } from '../../../src/domain/events/delivery.ts'
import { addWebhook } from '../../../src/domain/events/webhook.ts'
import { createAuditReader } from '../../../src/storage/audit/audit-reader.ts'
import { createWebhookStore } from '../../../src/storage/events/webhook-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anAuditEntry, anEntry } from '../../support/audit-entry.ts'

export function describeWebhookStore(current: () => Database): void {
  const giveUps = async () =>
    (await current().db.selectFrom('audit_events').select('action').where('action', '=', 'give_up').execute()).length

  describe('the delivery to a webhook', () => {
    it('is recorded for the holder of its lease, with an event, and for nobody else', async () => {
      const store = createWebhookStore(current())
      const webhookId = randomUUID()
      const position = await createAuditReader(current()).latest()
      const facts = { webhookId, name: 'siem', url: 'https://siem.example/', caCertificates: null, sealedSecret: 'x' }
      await store.change(anEntry('create'), (webhooks, moment) => ({
        next: addWebhook(webhooks, { ...facts, filter: { types: [], resources: [] }, position }, moment),
        result: null,
      }))
      const [own, foreign] = [randomUUID(), randomUUID()]
      const until = new Date('2040-01-01')
      const held = { ...deliveryFrom(position), lease: { id: own, until } }
      await store.claim(webhookId, () => held)

      const record = {
        delivery: { ...held, lease: { id: foreign, until }, givenUp: 1 },
        event: { entry: anAuditEntry('give_up'), outcome: 'GIVEN_UP' },
      }
      expect(await store.record(webhookId, foreign, record)).toBe(false)
      expect(await store.list()).toMatchObject([{ webhookId, delivery: held }])
      expect(await giveUps()).toBe(0)

      expect(await store.record(webhookId, own, record)).toBe(true)
      expect(await store.list()).toMatchObject([{ webhookId, delivery: record.delivery }])
      expect(await giveUps()).toBe(1)
      expect(await store.record(randomUUID(), own, record)).toBe(false)
    })
  })
}
