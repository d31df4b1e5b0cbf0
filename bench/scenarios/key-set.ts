/**
 * The key set, new and unchanged, beside a bare server that sends the same bytes.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SentDocument } from '../contenders/document-server.ts'
import { postgresInstance, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { getRequest } from '../load/requests.ts'
import { startProgram } from '../processes/program.ts'
import { costRow } from './rows.ts'
import type { Bench, Result } from './scenario.ts'
import { cpuRatio, type HttpLoad, takeTurns } from './turns.ts'

const CONCURRENCY = 16
/** What `node:http` adds to every answer. */
const ADDED = new Set(['connection', 'date', 'keep-alive'])

/** Keyturn on PostgreSQL and the bare server, 200 and 304. */
export async function keySet({ postgres, load, effort }: Bench, place: Place): Promise<Result> {
  const keyturn = await startKeyturn(postgresInstance(await postgres.createDatabase()), place)
  const document = await documentOf(keyturn.keySetUrl)
  const file = join(place.folder, 'document.json')
  await writeFile(file, JSON.stringify(document))
  const script = join(import.meta.dirname, '../contenders/document-server.ts')
  const bare = await startProgram({ script, args: [file], logFile: join(place.folder, 'document.log') })
  place.cleanup.add(bare.stop)

  const { pathname } = new URL(keyturn.keySetUrl)
  const loadOn = (server: { readonly url: string; readonly pid: number }, status: 200 | 304): HttpLoad => {
    const headers = status === 304 ? { 'if-none-match': document.etag } : undefined
    return {
      kind: 'http',
      url: server.url,
      pids: [server.pid],
      concurrency: CONCURRENCY,
      requests: [getRequest(server.url + pathname, headers)],
      expectedStatus: status,
      samples: 0,
      // Over loopback, to wake who waits for the answer is work of whoever writes it, and here most of the work there is.
      staysAwake: true,
    }
  }
  const turns = await takeTurns(load, effort, {
    'Keyturn, 200': loadOn(keyturn, 200),
    'bare server, 200': loadOn(bare, 200),
    'Keyturn, 304': loadOn(keyturn, 304),
    'bare server, 304': loadOn(bare, 304),
  })
  const target = (status: 200 | 304) => ({
    name: `key set ${status}: Keyturn, CPU per request / a bare server`,
    limit: { atMost: 1.3 },
    unit: '×',
    measured: cpuRatio(turns[`Keyturn, ${status}`], turns[`bare server, ${status}`]),
  })
  return {
    title: 'key set',
    rows: Object.entries(turns).map(([name, own]) => costRow(name, own)),
    targets: [target(200), target(304)],
    notes: [`The key set has ${document.body.length} bytes.`],
  }
}

/** What Keyturn sends, so that the bare server can send it too. */
async function documentOf(url: string): Promise<SentDocument> {
  const response = await fetch(url)
  const etag = response.headers.get('etag') ?? ''
  const unchanged = await fetch(url, { headers: { 'if-none-match': etag } })
  if (unchanged.status !== 304) throw new Error(`the key set is not recognised: ${unchanged.status}`)
  return {
    body: await response.text(),
    etag,
    headers: sentHeaders(response.headers),
    unchangedHeaders: sentHeaders(unchanged.headers),
  }
}

function sentHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => !ADDED.has(name)))
}
