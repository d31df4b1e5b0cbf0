/**
 * How PostgreSQL has looked for users and their secrets: through an index, or by reading the whole table.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { TestPostgres } from '../../test/support/postgres.ts'

/** Numbers of scans. */
export interface Scans {
  readonly userIndexScans: number
  readonly secretIndexScans: number
  /** Of either table. */
  readonly tableScans: number
}

/** PostgreSQL counts late: an idle connection reports within ten seconds. In milliseconds. */
const PATIENCE_MILLIS = 20_000
const PAUSE_MILLIS = 250

/** Counts the scans during some work that makes at least so many. */
export async function scansSince<T>(
  postgres: TestPostgres,
  url: string,
  { work, atLeast }: { readonly work: () => Promise<T>; readonly atLeast: number },
): Promise<{ readonly result: T; readonly scans: Scans }> {
  const before = await scansOf(postgres, url)
  const result = await work()
  const deadline = performance.now() + PATIENCE_MILLIS
  for (;;) {
    const now = await scansOf(postgres, url)
    const scans = {
      userIndexScans: now.userIndexScans - before.userIndexScans,
      secretIndexScans: now.secretIndexScans - before.secretIndexScans,
      tableScans: now.tableScans - before.tableScans,
    }
    const isComplete = Math.min(scans.userIndexScans, scans.secretIndexScans) >= atLeast
    if (isComplete || performance.now() > deadline) return { result, scans }
    await delay(PAUSE_MILLIS)
  }
}

async function scansOf(postgres: TestPostgres, url: string): Promise<Scans> {
  const rows = await postgres.query<{ relname: string; idx_scan: string; seq_scan: string }>(
    `select relname, idx_scan, seq_scan from pg_stat_user_tables where relname in ('service_users', 'credentials')`,
    [],
    url,
  )
  const of = (table: string, column: 'idx_scan' | 'seq_scan') =>
    Number(rows.find(({ relname }) => relname === table)?.[column] ?? 0)
  return {
    userIndexScans: of('service_users', 'idx_scan'),
    secretIndexScans: of('credentials', 'idx_scan'),
    tableScans: of('service_users', 'seq_scan') + of('credentials', 'seq_scan'),
  }
}
