/**
 * `keyturn audit --follow` as a process, while its server and the process itself are killed.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { type Administration, administrationWith } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import {
  collect,
  type Keyturn,
  type KeyturnProcess,
  removeServers,
  requestToken,
  spawnKeyturn,
  startKeyturn,
  startKeyturnInProcess,
} from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import type { TestPostgres } from '../support/postgres.ts'

interface Line {
  readonly event: { readonly eventId: string; readonly action: string }
  readonly position: string
}

let postgres: TestPostgres
let env: Record<string, string>
let a: Keyturn
let b: KeyturnProcess
let administration: Administration
let clientEnv: Record<string, string>
const children: ChildProcess[] = []

beforeAll(async () => {
  postgres = sharedPostgres()
  env = {
    KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
    KEYTURN_MASTER_KEYS: generateMasterKey(),
    KEYTURN_BASE_URL: 'http://localhost:8080',
  }
  a = await startKeyturnInProcess({ env })
  const admin = await a.admin()
  const at = (url: string, { listenUrl }: { listenUrl: string }) => new URL(new URL(url).pathname, listenUrl).href
  const token = await requestToken({ ...admin, token_endpoint: at(admin.token_endpoint, a) })
  administration = administrationWith(a, token)
  b = await startKeyturn({ env: { ...env, KEYTURN_LISTEN: `127.0.0.1:${await freePort()}` } })
  // As an administrator of the other replica has it.
  const credentials = { ...admin, base_url: b.listenUrl, token_endpoint: at(admin.token_endpoint, b) }
  const file = join(b.dataDir, 'client.json')
  await writeFile(file, JSON.stringify(credentials), { mode: 0o600 })
  clientEnv = { KEYTURN_CREDENTIALS: file }
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

afterAll(async () => {
  await removeServers(a, b)
  await postgres?.stop()
})

/** The command, which has begun. */
async function follow(...args: string[]) {
  const child = spawnKeyturn(['audit', '--follow', ...args], clientEnv)
  children.push(child)
  const output = collect(child)
  const closed = once(child, 'close') as Promise<[number | null]>
  const lines = () =>
    output.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  return { child, output, closed, lines }
}

async function makeProjects(count: number, prefix: string): Promise<void> {
  for (let i = 0; i < count; i += 1) await administration.projects.createProject({ name: `${prefix}-${i}` })
}

/** The ids of all events there are, oldest first, but those of failed authentications. */
async function allEvents(): Promise<string[]> {
  const { events } = await administration.audit.listAuditEvents({ pageSize: 1000, resource: 'projects' })
  return events.map(({ eventId }) => eventId).reverse()
}

describe('keyturn audit --follow', () => {
  it('goes on without a gap or a repetition after its server was killed, and after it was killed itself', async () => {
    const first = await follow('--json', '--from', '1h', '--resource', 'projects')
    await makeProjects(3, 'before')
    await eventually(() => expect(first.lines()).toHaveLength(3))
    await b.kill()
    await makeProjects(3, 'while')
    b = await startKeyturn({ env: { ...env, KEYTURN_LISTEN: new URL(b.listenUrl).host } })
    await eventually(() => expect(first.lines()).toHaveLength(6))
    await makeProjects(3, 'after')
    await eventually(() => expect(first.lines()).toHaveLength(9))
    first.child.kill('SIGKILL')
    await first.closed
    await makeProjects(3, 'again')
    const second = await follow('--json', '--after', first.lines().at(-1)!.position, '--resource', 'projects')
    await eventually(() => expect(second.lines()).toHaveLength(3))
    expect([...first.lines(), ...second.lines()].map(({ event }) => event.eventId)).toEqual(await allEvents())
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('ends at %s, and says how to go on', async (signal) => {
    const first = await follow('--from', '1h')
    await eventually(() => expect(first.output.stdout).toContain('CreateProject'))
    first.child.kill(signal)
    expect(await first.closed).toEqual([0, null])
    const [, position = ''] = /^to go on here: --after (\S+)\n$/.exec(first.output.stderr) ?? []
    // Refusals are events, too, and are written after their responses.
    const next = await follow('--json', '--after', position, '--resource', 'projects')
    await makeProjects(1, `next-${signal.toLowerCase()}`)
    await eventually(() => expect(next.lines()).toHaveLength(1))
  })
})
