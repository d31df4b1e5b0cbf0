/**
 * A client inside a region: takes requests as lines of JSON on standard input, and answers each with a line.
 */
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** What it is asked to do. */
export type RegionRequest =
  | { readonly kind: 'fetch'; readonly url: string; readonly init: RequestInit }
  | { readonly kind: 'sql'; readonly url: string; readonly text: string }
  /** Tokens, one after the other on each connection. */
  | {
      readonly kind: 'load'
      readonly url: string
      readonly init: RequestInit
      readonly connections: number
      readonly millis: number
    }
  /** Asks until the answer has a status and, if given, a text in it. */
  | {
      readonly kind: 'until'
      readonly url: string
      readonly init: RequestInit
      readonly status: number
      readonly text: string
      readonly millis: number
    }

/** What it answers. Times are milliseconds since the epoch, of the clock that all regions of this machine share. */
export type RegionAnswer =
  | { readonly kind: 'fetch'; readonly status: number; readonly headers: Record<string, string>; readonly body: string }
  | { readonly kind: 'sql'; readonly rows: readonly Record<string, unknown>[] }
  | {
      readonly kind: 'load'
      readonly tokens: number
      readonly failures: readonly { readonly at: number; readonly status: number }[]
      readonly lastTokenAt: number
      readonly latencies: readonly number[]
    }
  | { readonly kind: 'until'; readonly at: number | null }
  | { readonly kind: 'error'; readonly message: string }

const EVERY_MILLIS = 10

async function answerTo(request: RegionRequest): Promise<RegionAnswer> {
  switch (request.kind) {
    case 'fetch': {
      const response = await fetch(request.url, request.init)
      return {
        kind: 'fetch',
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      }
    }
    case 'sql':
      return { kind: 'sql', rows: await query(request.url, request.text) }
    case 'load':
      return load(request)
    case 'until': {
      const { url, init, status, text, millis } = request
      const deadline = Date.now() + millis
      while (Date.now() < deadline) {
        const asked = Date.now()
        const response = await fetch(url, init).catch(() => undefined)
        const body = await response?.text()
        if (response?.status === status && body?.includes(text) === true) return { kind: 'until', at: asked }
        await delay(EVERY_MILLIS)
      }
      return { kind: 'until', at: null }
    }
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 10_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

async function load({
  url,
  init,
  connections,
  millis,
}: Extract<RegionRequest, { kind: 'load' }>): Promise<RegionAnswer> {
  const latencies: number[] = []
  const failures: { at: number; status: number }[] = []
  let lastTokenAt = 0
  const end = Date.now() + millis
  const one = async () => {
    while (Date.now() < end) {
      const asked = performance.now()
      const response = await fetch(url, init).catch(() => undefined)
      await response?.text().catch(() => {})
      if (response?.status === 200) {
        latencies.push(performance.now() - asked)
        lastTokenAt = Date.now()
      } else {
        failures.push({ at: Date.now(), status: response?.status ?? 0 })
        await delay(EVERY_MILLIS)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  return { kind: 'load', tokens: latencies.length, failures: failures.slice(0, 1000), lastTokenAt, latencies }
}

for await (const line of createInterface(process.stdin)) {
  const { id, request } = JSON.parse(line) as { id: number; request: RegionRequest }
  void answerTo(request)
    .catch((error: unknown): RegionAnswer => ({ kind: 'error', message: String(error) }))
    .then((answer) => process.stdout.write(`${JSON.stringify({ id, answer })}\n`))
}
