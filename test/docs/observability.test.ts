import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { createWorkerMetrics } from '../../src/telemetry/metrics/worker-metrics.ts'
import { administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { type Family, parsePrometheusText, type Sample } from '../support/prometheus-text.ts'
import { webKeyClient } from '../support/web-key-client.ts'
import { referencesOf } from './promql.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')

/** What Prometheus itself adds to every series, and the bounds of buckets. */
const LABELS_OF_PROMETHEUS = ['job', 'instance', 'le']
/** Written by Prometheus for each target. */
const METRICS_OF_PROMETHEUS = ['up']

interface Alert {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; description: string }
}

interface Panel {
  title: string
  type: string
  id: number
  gridPos: { h: number; w: number; x: number; y: number }
  targets?: { expr: string; legendFormat: string }[]
}

interface Dashboard {
  panels: Panel[]
  templating: { list: { name: string; query: string | { query: string } }[] }
}

const alerts = (parse(read('deploy/prometheus/alerts.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
)
const dashboard = JSON.parse(read('deploy/grafana/keyturn.json')) as Dashboard
const targets = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })))

let exposed: Map<string, Family>
let server: Keyturn

/** A server after requests of every kind, failures included. */
async function scrapeServer(): Promise<Map<string, Family>> {
  const address = `127.0.0.1:${await freePort()}`
  server = await startKeyturnInProcess({ env: { KEYTURN_METRICS_LISTEN: address } })
  const admin = await server.admin()
  const token = await requestToken(admin)
  await expect(requestToken({ ...admin, client_secret: 'wrong' })).rejects.toThrow('invalid_client')
  await webKeyClient(server.listenUrl, token).createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
  await expect(webKeyClient(server.listenUrl, null).listWebKeys({})).rejects.toThrow()
  const source = { case: 'jwksUrl', value: 'https://127.0.0.1:1/jwks' } as const
  const { issuers } = administrationWith(server, token)
  const { trustedIssuer } = await issuers.createTrustedIssuer({ issuer: 'https://ci.example', keys: { source } })
  await issuers.refreshTrustedIssuerKeys({ issuerId: trustedIssuer!.issuerId })
  const webhook = { name: 'siem', url: 'https://receiver.invalid/events' }
  await administrationWith(server, token).webhooks.createWebhook(webhook)
  return await eventually(async () => {
    const families = parsePrometheusText(await (await fetch(`http://${address}/metrics`)).text())
    expect(families.get('keyturn_webhook_behind_seconds')?.samples).toHaveLength(1)
    return families
  })
}

/** What the primary of several processes has besides the sums. */
async function scrapeWorkers(): Promise<Map<string, Family>> {
  return parsePrometheusText(await createWorkerMetrics(() => ({ running: 2, restarting: 0, restarts: 0 }))())
}

beforeAll(async () => {
  exposed = new Map([...(await scrapeWorkers()), ...(await scrapeServer())])
})

afterAll(() => removeServers(server))

function samplesOf(name: string): readonly Sample[] {
  return [...exposed.values()].flatMap(({ samples }) => samples.filter((sample) => sample.name === name))
}

function labelsOf(samples: readonly Sample[]): string[] {
  return [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))]
}

/** What an expression refers to and no server has. */
function unknownIn(expression: string): string[] {
  const { selectors, groupedBy } = referencesOf(expression)
  const own = selectors.filter(({ metric }) => !METRICS_OF_PROMETHEUS.includes(metric))
  const labels = new Set([...LABELS_OF_PROMETHEUS, ...own.flatMap(({ metric }) => labelsOf(samplesOf(metric)))])
  return [
    ...groupedBy.filter((label) => !labels.has(label)),
    ...own.flatMap(({ metric, matchers }) => {
      const samples = samplesOf(metric)
      if (samples.length === 0) return [metric]
      return matchers
        .filter(({ label }) => !LABELS_OF_PROMETHEUS.includes(label))
        .filter(({ label, operator, value }) =>
          operator === '='
            ? !samples.some(({ labels }) => labels[label] === value)
            : !labelsOf(samples).includes(label),
        )
        .map(({ label, operator, value }) => `${metric}{${label}${operator}"${value}"}`)
    }),
  ]
}

describe('deploy/prometheus/alerts.yml', () => {
  it.each(alerts.map((alert) => [alert.alert, alert] as const))('%s asks for what servers expose', (_, { expr }) => {
    expect(referencesOf(expr).selectors).not.toEqual([])
    expect(unknownIn(expr)).toEqual([])
  })
})

describe('deploy/grafana/keyturn.json', () => {
  it.each(targets.map(({ title, expr }) => [title, expr] as const))('%s: %s', (_, expr) => {
    expect(referencesOf(expr).selectors).not.toEqual([])
    expect(unknownIn(expr)).toEqual([])
  })
})

describe('docs/metrics.md', () => {
  const rows = [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.+) \|$/gm)].map(
    ([, name = '', type = '', labels = '']) => ({
      name,
      type,
      labels: (labels.match(/\w+/g) ?? []).sort(),
    }),
  )

  it('has every metric with its type and labels, and no other', () => {
    const found = [...exposed].map(([name, { type, samples }]) => ({
      name,
      type,
      labels: labelsOf(samples)
        .filter((label) => label !== 'le')
        .sort(),
    }))
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)
    expect(rows.sort(byName)).toEqual(found.sort(byName))
  })
})
