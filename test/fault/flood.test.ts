import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { heldMebibytes, INSPECTABLE } from '../support/held-memory.ts'
import { type AdminCredentials, type KeyturnProcess, removeFolder, startKeyturn } from '../support/keyturn.ts'
import { startWorker, type Worker } from '../support/processes.ts'
import { CLEARTEXT_FLOODS, type Sent, TLS_FLOODS } from './floods.ts'
import { beServedDuring, type Served } from './polite-client.ts'

const IDLE_CONNECTIONS = 10_000
const CERTIFICATE = new URL('../support/tls/first.cert.pem', import.meta.url)
const PRIVATE_KEY = new URL('../support/tls/first.key.pem', import.meta.url)
/** What a server may keep of all floods together: descriptors, and memory in mebibytes. Caches and code are half of it. */
const MAX_DESCRIPTORS_KEPT = 20
const MAX_MEBIBYTES_KEPT = 10

/** A server, and what it uses before anybody floods it. */
interface Target {
  readonly server: KeyturnProcess
  readonly port: number
  readonly admin: AdminCredentials
  readonly ca?: Buffer
  readonly before: Usage
}

interface Usage {
  readonly descriptors: number
  readonly mebibytes: number
}

const servers: KeyturnProcess[] = []
afterAll(async () => {
  for (const server of servers) {
    await server.kill()
    await removeFolder(server.dataDir)
  }
})

async function start(env: Record<string, string> = {}, ca?: Buffer): Promise<Target> {
  const server = await startKeyturn({ env: { KEYTURN_LOG_LEVEL: 'warn', ...INSPECTABLE, ...env } })
  servers.push(server)
  const client = { admin: await server.admin(), ...(ca === undefined ? {} : { ca }) }
  await beServedDuring(Promise.resolve(), client)
  return { server, port: Number(new URL(server.listenUrl).port), ...client, before: await usageOf(server) }
}

/** Floods in a process of its own. */
async function flood(port: number, name: string): Promise<Sent> {
  const worker = startWorker(new URL('flood-worker.ts', import.meta.url), [String(port), name])
  try {
    return await worker.next<Sent>()
  } finally {
    await worker.kill()
  }
}

async function usageOf(server: KeyturnProcess): Promise<Usage> {
  const descriptors = (await readdir(`/proc/${server.process.pid}/fd`)).length
  return { descriptors, mebibytes: Number((await heldMebibytes(server)).toFixed(1)) }
}

/** Floods the server while it serves somebody else, who must be served all the time. */
async function serveThrough(target: Target, flooding: Promise<Sent>, least: Sent): Promise<Sent & Served> {
  const served = await beServedDuring(flooding, target)
  const sent = await flooding
  expect(sent.connections).toBeGreaterThanOrEqual(least.connections)
  expect(sent.pieces).toBeGreaterThanOrEqual(least.pieces)
  return { ...sent, ...served }
}

/** Waits until the server has let go of everything, and reports how it was. */
async function expectUnharmed({ server, before }: Target, name: string, flooded: Sent & Served): Promise<void> {
  expect(server.process.exitCode).toBeNull()
  const after = await eventually(async () => {
    const now = await usageOf(server)
    expect(now.descriptors).toBeLessThanOrEqual(before.descriptors + MAX_DESCRIPTORS_KEPT)
    expect(now.mebibytes).toBeLessThanOrEqual(before.mebibytes + MAX_MEBIBYTES_KEPT)
    return now
  })
  process.stderr.write(`${JSON.stringify({ flood: name, ...flooded, before, after })}\n`)
  const lines = server.output().stderr.split('\n')
  expect(lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([])
}

describe('a server that is flooded serves others all the same, and is itself afterwards:', () => {
  let target: Target
  beforeAll(async () => {
    target = await start()
  })

  it.each(Object.entries(CLEARTEXT_FLOODS))('%s', async (name, { least }) => {
    await expectUnharmed(target, name, await serveThrough(target, flood(target.port, name), least))
  })

  it(`${IDLE_CONNECTIONS} connections that are idle, as soon as the limits of time have ended them`, async () => {
    const workers: Worker[] = []
    const openAll = async () => {
      for (const _ of [1, 2]) {
        const args = [String(target.port), String(IDLE_CONNECTIONS / 2)]
        workers.push(startWorker(new URL('idle-connections.ts', import.meta.url), args))
      }
      const tried = await Promise.all(workers.map((worker) => worker.next<{ connected: number }>()))
      return { connections: tried.reduce((sum, { connected }) => sum + connected, 0), pieces: 0 }
    }
    let flooded: Sent & Served
    try {
      const sent = await openAll()
      expect(sent.connections).toBeGreaterThanOrEqual(IDLE_CONNECTIONS * 0.9)
      flooded = { ...sent, ...(await eventually(() => beServedDuring(Promise.resolve(), target))) }
    } finally {
      for (const worker of workers) await worker.kill()
    }
    await expectUnharmed(target, 'idle connections', flooded)
  })
})

describe('a server with TLS serves others all the same:', () => {
  let target: Target
  beforeAll(async () => {
    const env = { KEYTURN_TLS_CERT_FILE: CERTIFICATE.pathname, KEYTURN_TLS_KEY_FILE: PRIVATE_KEY.pathname }
    target = await start(env, await readFile(CERTIFICATE))
  })

  it.each(Object.entries(TLS_FLOODS))('%s', async (name, { least }) => {
    await expectUnharmed(target, name, await serveThrough(target, flood(target.port, name), least))
  })
})
