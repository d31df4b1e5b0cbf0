import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationWith, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { LogCollector } from '../support/log-collector.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { freePort } from '../support/postgres.ts'
import { parsePrometheusText } from '../support/prometheus-text.ts'
import { requestToken } from '../support/web-key-client.ts'

let collector: LogCollector
let env: Record<string, string>
let administration: Administration
const running: Keyturn[] = []
const collectors: LogCollector[] = []

beforeEach(async () => {
  // Not one that the system hands to others while the collector is gone.
  collector = await new LogCollector().start(await freePort())
  collectors.push(collector)
  env = {
    KEYTURN_DATABASE_URL: await newPostgresDatabase(),
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'always_off',
    OTEL_LOGS_EXPORTER: 'otlp',
  }
})

afterEach(async () => {
  for (const server of running.splice(0)) {
    await server.stop()
    await removeFolder(server.dataDir)
  }
  for (const started of collectors.splice(0)) await started.stop()
})

async function start(): Promise<Keyturn> {
  const server = await startKeyturnInProcess({ env })
  running.push(server)
  return server
}

/** Starts replicas, of which the first has begun to export, so that no event of the test is older than the export. */
async function startReplicas(count: number): Promise<Keyturn[]> {
  const first = await start()
  administration = administrationWith(first, await requestToken(await first.admin()))
  await eventually(async () => {
    await administration.projects.createProject({ name: `probe-${crypto.randomUUID().slice(0, 8)}` })
    expect(projectRecords()).not.toEqual([])
  })
  const others: Keyturn[] = []
  while (others.length < count - 1) others.push(await start())
  return [first, ...others]
}

async function makeProjects(count: number, prefix: string): Promise<void> {
  for (let i = 0; i < count; i += 1) await administration.projects.createProject({ name: `${prefix}-${i}` })
}

/** The ids of the events of projects, oldest first, from the first one that was exported. */
async function storedIds(): Promise<string[]> {
  const { events } = await administration.audit.listAuditEvents({ resource: 'projects', pageSize: 1000 })
  const ids = events.map(({ eventId }) => eventId).reverse()
  return ids.slice(ids.indexOf(exportedIds()[0] as string))
}

/** Those of projects. How the instance began is exported too if an older transaction held it back until the export began. */
const projectRecords = (from = collector) =>
  from.records.filter(({ attributes }) => String(attributes['keyturn.resource']).startsWith('projects/'))

const exportedIds = (from = collector) => projectRecords(from).map(({ attributes }) => attributes['keyturn.event.id'])

describe('the export of audit events', () => {
  it('sends each event of two replicas once, in order, as a log record', async () => {
    const [, other] = await startReplicas(2)
    await makeProjects(3, 'first')
    await administrationWith(other!, administration.token).projects.createProject({ name: 'second' })
    await refusalOf(administrationWith(other!, 'wrong').projects.listProjects({}))
    await eventually(async () => expect(exportedIds()).toEqual(await storedIds()))
    await eventually(() => expect(collector.records.at(-1)).toMatchObject({ severityText: 'WARN' }))
    const [record] = projectRecords()
    expect(record).toEqual({
      timeUnixNano: expect.stringMatching(/^\d{19}$/),
      observedTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      severityNumber: 9,
      severityText: 'INFO',
      eventName: 'keyturn.audit',
      body: 'iam.project.v2.ProjectService/CreateProject ok',
      droppedAttributesCount: 0,
      attributes: {
        'keyturn.event.id': expect.any(String),
        'keyturn.actor': expect.any(String),
        'keyturn.action': 'iam.project.v2.ProjectService/CreateProject',
        'keyturn.resource': expect.stringMatching(/^projects\//),
        'keyturn.outcome': 'ok',
        'keyturn.request.id': expect.any(String),
        'client.address': '127.0.0.1',
      },
      resource: expect.objectContaining({ 'service.name': 'keyturn' }),
    })
    expect(new Date(Number(record!.timeUnixNano) / 1e6).getTime()).toBeGreaterThan(Date.now() - 600_000)
  })

  it('sends the reason of a change, if it has one', async () => {
    await startReplicas(1)
    const configuration = { projects: [{ name: 'configured' }] }
    await administration.configurations.applyConfiguration({ configuration, reason: 'commit 3f2a1' })
    await makeProjects(1, 'unexplained')
    const reasons = () => collector.records.map(({ attributes }) => attributes['keyturn.reason'])
    await eventually(async () => expect(exportedIds()).toEqual(await storedIds()))
    expect(reasons().slice(-2)).toEqual(['commit 3f2a1', undefined])
  })

  it('loses nothing while the collector is gone, refuses or does not answer, and holds nothing else up', async () => {
    await startReplicas(1)
    collector.answering = 503
    const { attempts } = collector
    await makeProjects(2, 'refused')
    await eventually(() => expect(collector.attempts).toBeGreaterThan(attempts))
    collector.answering = 'never'
    await makeProjects(2, 'silent')
    await collector.stop()
    await makeProjects(2, 'gone')
    const back = await new LogCollector().start(Number(new URL(env.OTEL_EXPORTER_OTLP_ENDPOINT ?? '').port))
    collectors.push(back)
    await eventually(async () => {
      const all = await storedIds()
      expect([...new Set([...exportedIds(), ...exportedIds(back)])]).toEqual(all)
    })
  }, 120_000)

  it('sends a batch again whose answer does not end', async () => {
    await startReplicas(1)
    collector.answering = 'dripping'
    const { attempts } = collector
    await makeProjects(1, 'dripped')
    await eventually(() => expect(collector.attempts).toBeGreaterThan(attempts))
    collector.answering = 200
    await eventually(async () => expect(exportedIds()).toEqual(await storedIds()))
  }, 120_000)

  it('measures how old the event is that a collector refuses for good, and sends it once it is taken', async () => {
    const metrics = `127.0.0.1:${await freePort()}`
    env.KEYTURN_METRICS_LISTEN = metrics
    await startReplicas(1)
    const behind = async () => {
      const text = await (await fetch(`http://${metrics}/metrics`)).text()
      return parsePrometheusText(text)
        .get('keyturn_audit_export_behind_seconds')
        ?.samples.map(({ value }) => value)
    }
    await eventually(async () => expect(await behind()).toEqual([0]))
    collector.answering = 400
    await makeProjects(1, 'refused')
    await eventually(async () => expect(Number((await behind())?.[0])).toBeGreaterThan(1))
    collector.answering = 200
    await eventually(async () => expect(exportedIds()).toEqual(await storedIds()))
    await eventually(async () => expect(await behind()).toEqual([0]))
  }, 120_000)

  it('goes on at another replica when the one that exports stops', async () => {
    const [first, other] = await startReplicas(2)
    administration = administrationWith(other!, administration.token)
    await makeProjects(2, 'before')
    await first!.stop()
    await makeProjects(2, 'after')
    await eventually(async () => expect(exportedIds()).toEqual(await storedIds()))
  }, 120_000)

  it('goes on where it stopped when all replicas were gone', async () => {
    const [first] = await startReplicas(1)
    await eventually(async () => expect(exportedIds()).toEqual(await storedIds()))
    collector.answering = 503
    await makeProjects(3, 'last')
    await first!.stop()
    collector.answering = 200
    administration = administrationWith(await start(), administration.token)
    await eventually(async () => expect(exportedIds()).toEqual(await storedIds()))
  }, 120_000)
})
