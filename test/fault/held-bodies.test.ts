/**
 * What many connections may cost that send most of a body and stop there. Needs the machine: when the memory for bodies is used
 * up, the server cuts off the slowest requests, and a client that gets no CPU is as slow as those. `.ci/run` runs it alone.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { parse } from 'yaml'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type KeyturnProcess, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { startWorker } from '../support/processes.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { beServedDuring } from './polite-client.ts'

const MANIFEST = join(import.meta.dirname, '../../deploy/kubernetes/deployment.yaml')
const MEBIBYTE = 1024
/** The rest is for the other connections that there may be: ten thousand in all. */
const SHARE = 2 / 3
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

/** The most memory that it has had so far, in mebibytes. */
async function peak(): Promise<number> {
  const status = await readFile(`/proc/${server.process.pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / MEBIBYTE
}

/** What the shipped manifest allows, in mebibytes. */
async function limit(): Promise<number> {
  const { spec } = parse(await readFile(MANIFEST, 'utf8'))
  return Number(/^(\d+)Mi$/.exec(spec.template.spec.containers[0].resources.limits.memory)?.[1])
}

for (const { connections, bytes, piece } of [
  { connections: 4_000, bytes: 32_000, piece: 32_000 },
  { connections: 4_000, bytes: 28_000, piece: 2_000 },
]) {
  itUnless(NOT_LINUX)(
    `${connections} connections that send ${bytes} bytes of a body, ${piece} at a time, keep no client out and the server within the memory of the manifest`,
    async () => {
      const args = [server.listenUrl, connections, bytes, piece].map((arg, i) =>
        i === 0 ? new URL(`${arg}`).port : `${arg}`,
      )
      const worker = startWorker(new URL('half-bodies.ts', import.meta.url), args)
      try {
        const served = await beServedDuring(worker.next(), { admin: await server.admin() })
        const mebibytes = Math.round(await peak())
        process.stderr.write(`${JSON.stringify({ connections, bytes, piece, peakMebibytes: mebibytes, ...served })}\n`)
        expect(mebibytes).toBeLessThan(SHARE * (await limit()))
        expect(server.output().stderr).toContain('were cut off')
      } finally {
        await worker.kill()
      }
    },
  )
}
