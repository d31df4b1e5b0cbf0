/**
 * What clients may cost that send most of a body and stop there: memory, and others for no longer than a request may take to arrive.
 */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { eventually } from '../support/eventually.ts'
import { type KeyturnProcess, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { startWorker } from '../support/processes.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { beServedDuring } from './polite-client.ts'

const KIBIBYTES = 1024
/** What attackers may add to a process. */
const MAX_MEBIBYTES = 250
/** As the image starts it. */
const NODE_OPTIONS = '--max-semi-space-size=8'

let postgres: TestPostgres
let server: KeyturnProcess

beforeAll(async () => {
  postgres = await startPostgres()
  server = await startKeyturn({
    env: {
      KEYTURN_DATABASE_URL: await postgres.createDatabase(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_LOG_LEVEL: 'warn',
      NODE_OPTIONS,
    },
  })
})
afterAll(async () => {
  await server?.kill()
  if (server !== undefined) await removeFolder(server.dataDir)
  await postgres?.stop()
})

/** The memory of the server: now, and the most so far, in mebibytes. */
async function memory(): Promise<{ now: number; peak: number }> {
  const status = await readFile(`/proc/${server.process.pid}/status`, 'utf8')
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / KIBIBYTES
  return { now: field('VmRSS'), peak: field('VmHWM') }
}

for (const { connections, bytes, piece } of [
  { connections: 4_000, bytes: 32_000, piece: 32_000 },
  { connections: 4_000, bytes: 28_000, piece: 2_000 },
  { connections: 1_000, bytes: 4_000, piece: 1 },
]) {
  itUnless(NOT_LINUX)(
    `${connections} connections that send ${bytes} bytes of a body, ${piece} at a time, keep clients out until they are cut off, and take little memory`,
    async () => {
      const admin = await server.admin()
      await beServedDuring(Promise.resolve(), { admin })
      const before = await memory()
      const args = [new URL(server.listenUrl).port, `${connections}`, `${bytes}`, `${piece}`]
      const worker = startWorker(new URL('half-bodies.ts', import.meta.url), args)
      try {
        await worker.next()
        await eventually(() => beServedDuring(Promise.resolve(), { admin }))
        const { peak } = await memory()
        process.stderr.write(`${JSON.stringify({ connections, bytes, piece, before: before.now, peak })}\n`)
        expect(peak - before.now).toBeLessThan(MAX_MEBIBYTES)
      } finally {
        await worker.kill()
      }
    },
  )
}
