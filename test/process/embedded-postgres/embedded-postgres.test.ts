/**
 * An embedded database and its processes. The tests share one, which starts again where a test needs that; what they look for in
 * it is there all the time. More ways in which it starts are in `test/fault/embedded-postgres.test.ts`.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type pg from 'pg'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/embedded-postgres/embedded-postgres.ts'
import { socketUrl } from '../../../src/embedded-postgres/socket.ts'
import { openEmbeddedDatabase } from '../../support/embedded-database.ts'
import { eventually } from '../../support/eventually.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'
import { createRecordingLog, type RecordingLog } from '../../support/log.ts'
import { makeSchema } from '../../support/make-schema.ts'
import { isRunning } from '../../support/proc.ts'
import { startWorker, type Worker } from '../../support/processes.ts'
import { processesOn, serverAmong, shellsAmong } from '../../support/server-processes.ts'
import { describeUnless, itUnless, NOT_LINUX, NOT_ROOT } from '../../support/unless.ts'
import { queryEmbedded } from './query-embedded.ts'

/** On Linux the path of the socket is longer than the system allows. */
const FOLDER = NOT_LINUX === undefined ? 'x'.repeat(200) : 'data'

/** Folders above it are closed to all but the user of the tests, as those of `mktemp -d` are. */
let root: string
let dataDir: string
let log: RecordingLog
let worker: Worker | undefined
let running: EmbeddedPostgres | undefined

beforeAll(async () => {
  root = await temporaryFolder()
  dataDir = join(root, FOLDER)
  process.env.KEYTURN_TEST_SECRET = 'a secret'
  try {
    await start()
  } finally {
    delete process.env.KEYTURN_TEST_SECRET
  }
  await makeSchema(socketUrl(database()))
})
beforeEach(start)
afterEach(async () => {
  await worker?.kill()
  worker = undefined
})
afterAll(async () => {
  await stop()
  await removeFolder(root)
})

const database = (folder = dataDir) => join(folder, 'postgres')

const query = <Row extends pg.QueryResultRow>(text: string) => queryEmbedded<Row>(database(), text)

/** Starts it, unless it runs. */
async function start(): Promise<void> {
  if (running !== undefined) return
  log = createRecordingLog()
  running = await startIn(dataDir)
}

async function stop(): Promise<void> {
  await running?.stop()
  running = undefined
}

function startIn(folder: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: folder, connections: 4, log })
}

describe('an embedded database', () => {
  it('is made whole in a folder of its own, which only its owner can enter, and has no superuser at work', async () => {
    expect((await readdir(dataDir)).sort()).toEqual(['lock', 'lock-journal', 'postgres'])
    expect((await stat(database())).mode & 0o777).toBe(0o700)
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
    expect(await query('select usesuper from pg_user where usename = current_user')).toEqual([{ usesuper: false }])
  })

  it('syncs what is committed, listens on no port and logs nothing of a statement', async () => {
    const names = ['fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses', 'unix_socket_permissions']
    const logging = ['log_statement', 'log_min_error_statement', 'log_error_verbosity']
    const settings = await query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name in (${[...names, ...logging].map((name) => `'${name}'`)})`,
    )
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
      unix_socket_permissions: '0700',
      log_statement: 'none',
      log_min_error_statement: 'panic',
      log_error_verbosity: 'terse',
    })
    await expect(query("select 'a secret'::int")).rejects.toThrow('a secret')
    await expect(query("insert into web_keys (key_id) values ('a secret')")).rejects.toThrow()
    expect(log.lines.join()).not.toContain('web_keys (key_id)')
    expect(log.lines.join()).not.toContain('Failing row')
  })

  it('gives back the data directory when it is stopped, and is there again', async () => {
    await query('create table notes (id int); insert into notes values (7)')
    await stop()
    expect((await readdir(database())).filter((name) => /pid|PGSQL/.test(name))).toEqual([])
    await start()
    expect(await query('select id from notes')).toEqual([{ id: 7 }])
    expect(log.lines).toEqual([])
  })
})

describeUnless(NOT_LINUX)('the server of an embedded database', () => {
  itUnless(NOT_ROOT)('cannot read the files of Keyturn in the data directory, nor enter it', async () => {
    const server = serverAmong(await processesOn(database()))!
    const { uid } = await stat(`/proc/${server}`)
    expect(uid).not.toBe(0)
    expect((await stat(database())).uid).toBe(uid)
    expect(await stat(dataDir)).toMatchObject({ uid: 0 })
    expect((await stat(dataDir)).mode & 0o077).toBe(0)
  })

  it('is started again when it was killed, and says so', async () => {
    await query('create table lines (id int); insert into lines values (7)')
    process.kill(serverAmong(await processesOn(database()))!, 'SIGKILL')
    await eventually(async () => expect(await query('select id from lines')).toEqual([{ id: 7 }]))
    expect(log.lines.join()).toContain('error the embedded PostgreSQL has ended and will be started again')
    await eventually(() => expect(log.lines.join()).toContain('info the embedded PostgreSQL runs again'))
  })

  it('ends when Keyturn is killed, and has what was committed', async () => {
    await stop()
    const keyId = await writeElsewhere()
    const before = await processesOn(database())
    expect(before.length).toBeGreaterThan(3)
    await worker?.kill()
    await eventually(() => expect(before.filter(({ pid }) => isRunning(pid))).toEqual([]))
    expect(await keyIds()).toContain(keyId)
  })

  it('is ended by the next start when nothing else has ended it', async () => {
    await stop()
    const keyId = await writeElsewhere()
    const before = await processesOn(database())
    // Otherwise it replaces a server whose shells are gone.
    worker?.process.kill('SIGSTOP')
    for (const pid of shellsAmong(before)) process.kill(pid, 'SIGKILL')
    await worker?.kill()
    const orphan = serverAmong(before)!
    expect(isRunning(orphan)).toBe(true)
    expect(await keyIds()).toContain(keyId)
    expect(isRunning(orphan)).toBe(false)
  })
})

/** Another process starts the database and makes a key there. @returns The id of the key. */
async function writeElsewhere(): Promise<string> {
  worker = startWorker(new URL('embedded-worker.ts', import.meta.url), [dataDir])
  return (await worker.next<{ keyId: string }>()).keyId
}

async function keyIds(): Promise<string[]> {
  const opened = await openEmbeddedDatabase(dataDir)
  try {
    return (await keyOperations(opened).look()).ring.map(({ keyId }) => keyId)
  } finally {
    await opened.close()
  }
}
