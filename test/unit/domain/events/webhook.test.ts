import { describe, expect, it } from '@jest/globals'
import type { AuditEvent } from '../../../../src/domain/audit.ts'
import {
  addWebhook,
  disableGone,
  editWebhook,
  isDeliverable,
  isWanted,
  signingSecrets,
} from '../../../../src/domain/events/webhook.ts'

const event = (action: string, resource = ''): AuditEvent => ({
  eventId: 'c0ffee00-0000-4000-8000-000000000000',
  at: new Date('2026-11-23T08:00:00Z'),
  actor: 'system',
  action,
  resource,
  outcome: 'OMITTED',
  requestId: '',
  clientAddress: '',
  reason: '',
  omission: null,
})

describe('a receiver that says it is gone', () => {
  const webhookId = 'hook'
  const facts = {
    webhookId,
    name: 'siem',
    url: 'https://siem.example/',
    caCertificates: null,
    filter: { types: [], resources: [] },
    sealedSecret: 'sealed',
    position: '',
  }
  const [created] = addWebhook([], facts, { date: new Date(0) })
  const lease = { id: 'lease', until: new Date(30_000) }
  const webhooks = [{ ...created!, delivery: { ...created!.delivery, lease } }]

  it('gets nothing more', () => {
    const now = new Date(60_000)
    const [gone] = disableGone(webhooks, webhookId, 'lease')
    expect([isDeliverable(webhooks[0]!, now), isDeliverable(gone!, now)]).toEqual([true, false])
  })

  it('has its webhook disabled, unless that was changed or another process delivers to it meanwhile', () => {
    expect(disableGone(webhooks, webhookId, 'lease')).toMatchObject([{ disabled: 'gone', delivery: { lease: null } }])
    expect(disableGone(webhooks, webhookId, 'earlier lease')).toBe(webhooks)
    const moved = editWebhook(webhooks, webhookId, { url: 'https://new.example/' })
    expect(disableGone(moved, webhookId, 'lease')).toBe(moved)
    expect(disableGone([], webhookId, 'lease')).toEqual([])
  })
})

describe('a filter', () => {
  it.each([
    [[], [], true],
    [['keyturn.rotation.activate'], [], true],
    [['keyturn.rotation.*'], [], true],
    [['keyturn.*'], [], true],
    [['keyturn.rotation'], [], false],
    [['keyturn.rot.*'], [], false],
    [['keyturn.oauth.*', 'keyturn.rotation.*'], ['web_keys'], true],
    [[], ['web_keys/1'], true],
    [[], ['web_keys/12'], false],
    [[], ['web'], false],
    [['keyturn.oauth.*'], ['web_keys'], false],
  ])('of the types %j and the resources %j wants an event of an activation: %s', (types, resources, wanted) => {
    expect(isWanted({ types, resources }, event('rotation/activate', 'web_keys/1'))).toBe(wanted)
  })
})

describe('the secrets of a webhook', () => {
  it('sign both until the old one ends', () => {
    const secrets = { current: 'new', previous: { sealed: 'old', expiresAt: new Date(1000) } }
    expect(signingSecrets(secrets, new Date(999))).toEqual(['new', 'old'])
    expect(signingSecrets(secrets, new Date(1000))).toEqual(['new'])
  })
})
