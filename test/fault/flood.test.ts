import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type AdminCredentials, type Keyturn, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { startWorker, type Worker } from '../support/processes.ts'
import { CLEARTEXT_FLOODS, TLS_FLOODS } from './floods.ts'
import { beServedDuring } from './polite-client.ts'

const IDLE_CONNECTIONS = 10_000
const CERTIFICATES = new URL('../support/tls/', import.meta.url)
/** What a server may keep of a flood: descriptors, and memory that is not yet collected, in mebibytes. */
const MAX_DESCRIPTORS_KEPT = 20
const MAX_MEBIBYTES_KEPT = 250

const servers: Keyturn[] = []
afterAll(async () => {
  for (const server of servers) {
    await server.kill()
    await removeFolder(server.dataDir)
  }
})

async function start(env: Record<string, string> = {}) {
  const server = await startKeyturn({ env: { KEYTURN_LOG_LEVEL: 'warn', ...env } })
  servers.push(server)
  return { server, port: Number(new URL(server.listenUrl).port), admin: await server.admin() }
}

/** Floods in a process of its own. */
async function flood(port: number, name: string): Promise<void> {
  const worker = startWorker(new URL('flood-worker.ts', import.meta.url), [String(port), name])
  try {
    expect(await worker.next()).toEqual({ over: name })
  } finally {
    await worker.kill()
  }
}

async function usage({ process: { pid } }: Keyturn) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const mebibytes = Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024)
  return { descriptors: (await readdir(`/proc/${pid}/fd`)).length, mebibytes }
}

async function expectUnharmed(server: Keyturn, before: Awaited<ReturnType<typeof usage>>) {
  expect(server.process.exitCode).toBeNull()
  await eventually(async () => {
    const after = await usage(server)
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + MAX_DESCRIPTORS_KEPT)
    expect(after.mebibytes).toBeLessThanOrEqual(before.mebibytes + MAX_MEBIBYTES_KEPT)
  })
  expect(
    server
      .output()
      .stderr.split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line)),
  ).toEqual([])
}

const report = (name: string, figures: object) =>
  process.stderr.write(`${JSON.stringify({ flood: name, ...figures })}\n`)

describe('a server that is flooded serves others all the same, and is itself afterwards:', () => {
  let server: Keyturn
  let port: number
  let admin: AdminCredentials
  let before: Awaited<ReturnType<typeof usage>>

  beforeAll(async () => {
    ;({ server, port, admin } = await start())
    await beServedDuring(Promise.resolve(), { admin })
    before = await usage(server)
  })

  it.each(Object.keys(CLEARTEXT_FLOODS))('%s', async (name) => {
    report(name, { ...(await beServedDuring(flood(port, name), { admin })), ...(await usage(server)) })
    await expectUnharmed(server, before)
  })

  it(`${IDLE_CONNECTIONS} connections that are idle`, async () => {
    const workers: Worker[] = []
    const openAll = async () => {
      for (const _ of [1, 2]) {
        const args = [String(port), String(IDLE_CONNECTIONS / 2)]
        workers.push(startWorker(new URL('idle-connections.ts', import.meta.url), args))
      }
      const tried = await Promise.all(workers.map((worker) => worker.next<{ connected: number }>()))
      return tried.reduce((sum, { connected }) => sum + connected, 0)
    }
    try {
      const flooding = openAll()
      const served = await beServedDuring(flooding, { admin })
      report('idle connections', { ...served, connected: await flooding, ...(await usage(server)) })
      expect(await flooding).toBeGreaterThanOrEqual(IDLE_CONNECTIONS * 0.9)
    } finally {
      for (const worker of workers) await worker.kill()
    }
    await expectUnharmed(server, before)
  })
})

describe('a server with TLS serves others all the same:', () => {
  it.each(Object.keys(TLS_FLOODS))('%s', async (name) => {
    const file = (name: string) => new URL(name, CERTIFICATES).pathname
    const { server, port, admin } = await start({
      KEYTURN_TLS_CERT_FILE: file('first.cert.pem'),
      KEYTURN_TLS_KEY_FILE: file('first.key.pem'),
    })
    const ca = await readFile(file('first.cert.pem'))
    await beServedDuring(Promise.resolve(), { admin, ca })
    const before = await usage(server)
    report(name, await beServedDuring(flood(port, name), { admin, ca }))
    await expectUnharmed(server, before)
  })
})
