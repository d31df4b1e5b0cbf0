/**
 * Events that leave by webhooks, on two replicas: what receivers get, verified by the library of Standard Webhooks and as CloudEvents.
 */

import type { ServerResponse } from 'node:http'
import { toJson } from '@bufbuild/protobuf'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { AuditEventSchema } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { type Webhook, WebhookState } from '../../gen/iam/event/v2/webhook_pb.js'
import { createAuditLog } from '../../src/storage/events/audit-log.ts'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { allEventsReadable } from '../support/readable-events.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { startReceiver, status, verified, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { wrongAsCloudEvent } from './cloud-event.ts'

const authority = createAuthority()
const caCertificates = authority.cert
const SETTINGS = { KEYTURN_OUTBOUND_NETWORKS: '127.0.0.1, ::1' }

let instance: OAuthInstance
let admin: Administration
let receiver: WebhookReceiver
const started: WebhookReceiver[] = []

beforeAll(async () => {
  instance = await startOAuthInstance(SETTINGS)
  await instance.startReplica(SETTINGS)
  admin = await administrationOf(instance.keyturn)
})
beforeEach(async () => {
  receiver = await start()
})
afterEach(async () => {
  const { webhooks } = await admin.webhooks.listWebhooks({})
  for (const { webhookId } of webhooks) await admin.webhooks.deleteWebhook({ webhookId })
  for (const each of started.splice(0)) await each.stop()
})
afterAll(() => instance?.stop())

async function start(port?: number): Promise<WebhookReceiver> {
  const server = await startReceiver(authority, port)
  started.push(server)
  return server
}

let names = 0

interface Settings {
  name?: string
  url?: string
  caCertificates?: string
  eventTypes?: string[]
  resources?: string[]
}

/** A webhook for the receiver, that is sent the changes of projects, and nothing that was done before. */
async function create(settings: Settings = {}): Promise<{ webhookId: string; secret: string }> {
  await allEventsReadable(instance.database)
  names += 1
  const { webhook, secret } = await admin.webhooks.createWebhook({
    name: `hook-${names}`,
    url: receiver.url,
    caCertificates,
    eventTypes: ['keyturn.iam.project.*'],
    ...settings,
  })
  return { webhookId: webhook!.webhookId, secret }
}

/** Makes a project, and returns its id. */
async function change(): Promise<string> {
  names += 1
  const { project } = await admin.projects.createProject({ name: `p-${names}` })
  return project!.projectId
}

const changes = async (count: number) => {
  const projectIds: string[] = []
  for (let made = 0; made < count; made += 1) projectIds.push(await change())
  return projectIds
}

const get = async (webhookId: string): Promise<Webhook> => (await admin.webhooks.getWebhook({ webhookId })).webhook!

/** Waits until the first event that waits has failed so often, or more often: it is tried again every few seconds. */
const fails = (webhookId: string, failures: number, waitingEvents?: number): Promise<Webhook> =>
  eventually(async () => {
    const webhook = await get(webhookId)
    expect(webhook.delivery!.failures).toBeGreaterThanOrEqual(failures)
    if (waitingEvents !== undefined) expect(webhook.delivery).toMatchObject({ waitingEvents })
    return webhook
  })

/** Has what failed tried again now instead of in some seconds. */
const tryNow = () =>
  eventually(() =>
    instance.database.db.transaction().execute(async (transaction) => {
      const rows = await transaction.selectFrom('webhooks').select(['webhook_id', 'delivery']).forUpdate().execute()
      for (const row of rows) {
        const delivery = JSON.parse(row.delivery)
        // A deliverer writes it all once more when it gives its lease back.
        expect(delivery.lease).toBeNull()
        await transaction
          .updateTable('webhooks')
          .set({ delivery: JSON.stringify({ ...delivery, nextAttemptAt: null }) })
          .where('webhook_id', '=', row.webhook_id)
          .execute()
      }
    }),
  )

const subjects = (from = receiver) => from.received.map(({ event }) => event.subject)

/** Waits until the receiver has accepted these projects, each at least once, and the first time in this order. */
async function accepts(projectIds: readonly string[]): Promise<void> {
  const expected = projectIds.map((projectId) => `projects/${projectId}`)
  const accepted = () => {
    const bySubject = new Map(receiver.received.map(({ event }) => [event.id, event.subject]))
    return [...new Set(receiver.accepted.map((id) => bySubject.get(id)))]
  }
  await eventually(() => expect(accepted()).toContain(expected.at(-1)))
  expect(accepted()).toEqual(expected)
}

describe('an event', () => {
  it('is sent to a webhook as a signed CloudEvent with the event of the API [Standard Webhooks; CloudEvents 1.0]', async () => {
    const { secret } = await create()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const projectId = await change()
    await accepts([projectId])
    const [got] = receiver.received
    expect(verified(secret, got!)).toEqual(got!.event)
    expect(() => verified(`whsec_${Buffer.alloc(32).toString('base64')}`, got!)).toThrow('No matching signature')
    expect(got!.headers).toMatchObject({
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'webhook-id': got!.event.id,
      'user-agent': 'keyturn',
    })
    expect(wrongAsCloudEvent(got!.headers['content-type'], got!.body)).toEqual([])
    const { events } = await admin.audit.listAuditEvents({ resource: `projects/${projectId}` })
    expect(got!.event).toEqual({
      specversion: '1.0',
      id: events[0]!.eventId,
      source: instance.keyturn.baseUrl,
      type: 'keyturn.iam.project.v2.ProjectService.CreateProject',
      subject: `projects/${projectId}`,
      time: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      datacontenttype: 'application/json',
      data: toJson(AuditEventSchema, events[0]!),
    })
  })

  it('is sent once, in order, although two replicas deliver', async () => {
    await create()
    const other = await start()
    await create({ url: other.url })
    const projectIds = await changes(25)
    await accepts(projectIds)
    const expected = projectIds.map((projectId) => `projects/${projectId}`)
    await eventually(() => expect(subjects(other)).toContain(expected.at(-1)))
    expect(subjects(other)).toEqual(expected)
    expect(subjects()).toEqual(expected)
  })

  it('is sent if its type and its resource are wanted, from the creation of the webhook on', async () => {
    await change()
    const [wanted] = await changes(1)
    const { webhookId } = await create({ eventTypes: [], resources: [`projects/${wanted}`, 'webhooks'] })
    await change()
    const robot = await instance.addRobot()
    await admin.users.disableServiceUser({ userId: robot.userId })
    await admin.projects.addProjectRole({ projectId: wanted!, role: 'admin' })
    await eventually(() =>
      expect(receiver.received.map(({ event }) => [event.type.split('.').at(-1), event.subject])).toEqual([
        ['CreateWebhook', `webhooks/${webhookId}`],
        ['AddProjectRole', `projects/${wanted}/roles/admin`],
      ]),
    )
    await eventually(async () => expect((await get(webhookId)).delivery).toMatchObject({ waitingEvents: 0 }))
  })
})

describe('a receiver', () => {
  it.each([
    ['answers 500', status(500), 'answers with status 500'],
    [
      'redirects',
      status(307, { location: 'https://localhost/' }),
      'answers with status 307, a redirect, which is not followed',
    ],
    ['closes the connection', (response) => response.destroy(), 'cannot be reached (ECONNRESET)'],
  ] satisfies [string, Parameters<WebhookReceiver['answer']>[0], string][])(
    'that %s gets the events in order once it accepts them',
    async (_what, answer, reason) => {
      receiver.answer(answer)
      const { webhookId } = await create()
      const projectIds = await changes(3)
      const failed = await fails(webhookId, 1, 3)
      expect(failed.delivery).toMatchObject({ lastFailure: reason })
      expect(failed.delivery!.nextAttemptDate).toBeDefined()
      expect(failed.delivery!.lastSuccessDate).toBeUndefined()
      receiver.answer(status(204))
      await tryNow()
      await accepts(projectIds)
      await eventually(async () =>
        expect((await get(webhookId)).delivery).toMatchObject({ failures: 0, waitingEvents: 0, givenUpEvents: 0n }),
      )
      expect(new Set(subjects().slice(0, -2))).toEqual(new Set([`projects/${projectIds[0]}`]))
    },
  )

  it('that does not answer holds up no other webhook, and no request', async () => {
    const other = await start()
    receiver.answer(() => {})
    await create()
    await create({ url: other.url })
    const [first] = await changes(3)
    await eventually(() => expect(other.accepted).toHaveLength(3))
    await eventually(() => expect(receiver.received).not.toEqual([]))
    expect(new Set(subjects())).toEqual(new Set([`projects/${first}`]))
    const robot = await instance.addRobot()
    expect((await instance.requestToken(robot)).status).toBe(200)
  })

  it('that is gone disables the webhook, which is an event, until an administrator enables it', async () => {
    receiver.answer(status(410))
    const { webhookId } = await create()
    const projectIds = await changes(2)
    await eventually(async () => expect((await get(webhookId)).state).toBe(WebhookState.GONE))
    await eventually(async () =>
      expect((await get(webhookId)).delivery).toMatchObject({
        waitingEvents: 2,
        lastFailure: 'answers with status 410',
      }),
    )
    const { events } = await admin.audit.listAuditEvents({ resource: `webhooks/${webhookId}` })
    expect(events[0]).toMatchObject({ action: 'webhook/disable', actor: 'system', outcome: 'ok' })
    receiver.answer(status(200))
    expect(receiver.received).toHaveLength(1)
    await admin.webhooks.updateWebhook({ webhookId, enabled: true, updateMask: { paths: ['enabled'] } })
    await accepts(projectIds)
  })
})

describe('a webhook', () => {
  it('that is deleted or disabled gets nothing more than what is being sent', async () => {
    const held: ServerResponse[] = []
    receiver.answer((response) => held.push(response))
    const { webhookId } = await create()
    await change()
    await eventually(() => expect(receiver.received).toHaveLength(1))
    await admin.webhooks.updateWebhook({ webhookId, enabled: false, updateMask: { paths: ['enabled'] } })
    held[0]!.writeHead(503).end()
    expect((await get(webhookId)).state).toBe(WebhookState.DISABLED)
    await admin.webhooks.updateWebhook({ webhookId, enabled: true, updateMask: { paths: ['enabled'] } })
    await eventually(() => expect(receiver.received).toHaveLength(2))
    await admin.webhooks.deleteWebhook({ webhookId })
    held[1]!.writeHead(503).end()
    const other = await start()
    await create({ url: other.url })
    await change()
    await eventually(() => expect(other.received).toHaveLength(1))
    expect(receiver.received).toHaveLength(2)
    expect(await refusalOf(admin.webhooks.getWebhook({ webhookId }))).toMatchObject({ reason: 'WEBHOOK_NOT_FOUND' })
  })

  it('signs with the old and the new secret after a rotation, and with the new one alone when the old one has ended', async () => {
    const { webhookId, secret: first } = await create()
    const rotated = await admin.webhooks.rotateWebhookSecret({ webhookId })
    expect(Number(rotated.webhook!.previousSecretExpirationDate!.seconds)).toBeGreaterThan(Date.now() / 1000 + 86_000)
    await change()
    await eventually(() => expect(receiver.received).toHaveLength(1))
    const [both] = receiver.received
    for (const secret of [first, rotated.secret]) expect(verified(secret, both!)).toEqual(both!.event)
    const { secret: last } = await admin.webhooks.rotateWebhookSecret({ webhookId, overlapSeconds: 0 })
    await change()
    await eventually(() => expect(receiver.received).toHaveLength(2))
    const only = receiver.received[1]!
    expect(verified(last, only)).toEqual(only.event)
    for (const secret of [first, rotated.secret]) expect(() => verified(secret, only)).toThrow('No matching signature')
  })

  it('is tested by an event that is not in the trail, which says what came of it', async () => {
    const { webhookId, secret } = await create()
    const delivered = await admin.webhooks.testWebhook({ webhookId })
    expect(delivered).toMatchObject({ delivered: true, failure: '' })
    const [got] = receiver.received
    expect(got!.event).toMatchObject({
      type: 'keyturn.webhook.test',
      id: delivered.eventId,
      subject: `webhooks/${webhookId}`,
    })
    expect(verified(secret, got!)).toEqual(got!.event)
    receiver.answer(status(500))
    expect(await admin.webhooks.testWebhook({ webhookId })).toMatchObject({
      delivered: false,
      failure: 'answers with status 500',
    })
    expect((await get(webhookId)).delivery).toMatchObject({ failures: 0, waitingEvents: 0 })
  })

  it.each([
    ['http://example.com/', {}],
    ['https://example.com', { name: 'Upper' }],
    ['https://example.com', { eventTypes: ['zitadel.*'] }],
    ['https://example.com', { caCertificates: 'no certificate' }],
  ] as [string, Settings][])('is refused with %s and %j', async (url, settings) => {
    expect(await refusalOf(create({ url, ...settings }))).toMatchObject({ code: 'InvalidArgument' })
  })

  it('has a name of its own, and there are at most 20', async () => {
    for (let made = 0; made < 20; made += 1) await create({ name: `full-${made}`, eventTypes: ['keyturn.nothing'] })
    expect(await refusalOf(create({ name: 'full-3' }))).toMatchObject({
      code: 'AlreadyExists',
      reason: 'WEBHOOK_NAME_TAKEN',
    })
    expect(await refusalOf(create())).toMatchObject({ code: 'ResourceExhausted', reason: 'WEBHOOK_LIMIT_REACHED' })
    const { webhooks, nextPageToken } = await admin.webhooks.listWebhooks({ pageSize: 15 })
    const rest = await admin.webhooks.listWebhooks({ pageSize: 15, pageToken: nextPageToken })
    const listed = [...webhooks, ...rest.webhooks].map(({ name }) => name)
    expect(listed).toEqual([...listed].sort())
    expect(listed).toHaveLength(20)
  })

  it('is told how many events the retention has deleted before they were delivered, which is an event', async () => {
    const { webhookId } = await create({ eventTypes: ['keyturn.iam.project.*', 'keyturn.webhook.expire'] })
    const delivered = await change()
    await accepts([delivered])
    await eventually(async () => expect((await get(webhookId)).delivery).toMatchObject({ waitingEvents: 0 }))
    receiver.answer(status(503))
    const projectIds = await changes(3)
    await fails(webhookId, 1, 3)
    const old = [delivered, ...projectIds.slice(0, 2)].map((projectId) => `projects/${projectId}`)
    const before = new Date('2000-01-01T00:00:00Z')
    await instance.database.db
      .updateTable('audit_events')
      .set({ event_date: before })
      .where('resource', 'in', old)
      .execute()
    const events = createAuditLog(instance.database)
    expect(await events.deleteBefore(new Date('2001-01-01T00:00:00Z'))).toBe(3)
    expect(await events.deleteBefore(new Date('2001-01-01T00:00:00Z'))).toBe(0)
    await eventually(async () =>
      expect((await get(webhookId)).delivery).toMatchObject({ waitingEvents: 2, expiredEvents: 2n }),
    )
    receiver.answer(status(204))
    await tryNow()
    await eventually(() => expect(receiver.accepted).toHaveLength(3))
    expect(receiver.received.slice(-2).map(({ event }) => [event.subject, event.data.outcome])).toEqual([
      [`projects/${projectIds[2]}`, 'ok'],
      [`webhooks/${webhookId}`, 'EXPIRED 2'],
    ])
    await eventually(async () =>
      expect((await get(webhookId)).delivery).toMatchObject({ waitingEvents: 0, expiredEvents: 2n }),
    )
  })
})
