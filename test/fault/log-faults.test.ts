import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { itUnless } from '../support/unless.ts'

const MAIN = join(import.meta.dirname, '../../src/cli/keyturn.js')
const FULL_DISK = '/dev/full'
const WITHOUT_FULL_DISK = existsSync(FULL_DISK) ? undefined : `there is no ${FULL_DISK}`

/** Enough lines, of more than 300 characters, to fill the pipe and everything that is kept for it: a megabyte. */
const REQUESTS = 4_000
/** Enough to fill the pipe, and what this process keeps of it. */
const REQUESTS_OF_A_PIPE = 800
const AT_ONCE = 50
const HEADERS = { 'x-request-id': 'x'.repeat(64), traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01` }

const postgres = sharedPostgres()
let folder: string
let child: ChildProcess | undefined

beforeEach(async () => {
  folder = await temporaryFolder()
})

afterEach(async () => {
  child?.kill('SIGKILL')
  await removeFolder(folder)
})
afterAll(() => postgres.stop())

/** Starts a server whose standard error is this, and returns its address. */
async function start(stderr: number | 'pipe'): Promise<string> {
  child = spawn(process.execPath, [MAIN, 'serve'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      KEYTURN_LISTEN: '127.0.0.1:0',
      KEYTURN_METRICS_LISTEN: 'off',
      KEYTURN_DATA_DIR: folder,
      KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
      KEYTURN_LOG_LEVEL: 'debug',
      KEYTURN_DRAIN_SECONDS: '0',
    },
    stdio: ['ignore', 'pipe', stderr],
  })
  let output = ''
  for await (const chunk of child.stdout ?? []) {
    output += chunk
    const address = /listens on (\S+)/.exec(output)?.[1]
    if (address !== undefined) return address
  }
  throw new Error(`the server ended before it listened: ${output}`)
}

async function stop(): Promise<number | null> {
  const exited = once(child as ChildProcess, 'exit')
  child?.kill('SIGTERM')
  await exited
  return child?.exitCode ?? null
}

async function ask(url: string, times: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const one = () =>
    new Promise<boolean>((resolve, reject) => {
      const outgoing = request(`${url}/healthz`, { agent, headers: HEADERS }, (response) => {
        text(response).then(() => resolve(response.statusCode === 200), reject)
      })
      outgoing.on('error', reject).end()
    })
  let answered = 0
  while (answered < times) {
    const batch = await Promise.all(Array.from({ length: AT_ONCE }, one))
    if (batch.includes(false)) break
    answered += batch.length
  }
  agent.destroy()
  return answered
}

describe('a server goes on and stops in order', () => {
  it('while its log is not read, reports the dropped lines when it is read again, and stops when it is not', async () => {
    const url = await start('pipe')
    expect(await ask(url, REQUESTS)).toBe(REQUESTS)

    // Now the log is read, and reports what is missing.
    let log = ''
    child?.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      log += chunk
    })
    while (!log.includes('were dropped')) await ask(url, AT_ONCE)
    const dropped = /\{[^{]*"lines":(\d+)[^{]*were dropped/.exec(log)?.[1]
    expect(Number(dropped)).toBeGreaterThan(0)

    child?.stderr?.pause()
    expect(await ask(url, REQUESTS_OF_A_PIPE)).toBe(REQUESTS_OF_A_PIPE)
    expect(await stop()).toBe(0)
  })

  itUnless(WITHOUT_FULL_DISK)('although the disk of its log is full', async () => {
    const url = await start(openSync(FULL_DISK, 'w'))
    expect(await ask(url, AT_ONCE * 2)).toBe(AT_ONCE * 2)
    expect(await stop()).toBe(0)
  })
})
