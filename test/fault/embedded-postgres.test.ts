/**
 * The long form of `test/process/embedded-postgres/embedded-postgres.test.ts`: embedded databases that start on what an accident
 * has left.
 */
import { spawn } from 'node:child_process'
import { chmod, chown, cp, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { createRecordingLog } from '../support/log.ts'
import { newDatabaseFolder } from '../support/new-database.ts'
import { isRunning } from '../support/proc.ts'
import { startWorker, type Worker } from '../support/processes.ts'
import { queryEmbedded } from '../support/query-embedded.ts'
import { processesOn, serverAmong, shellsAmong } from '../support/server-processes.ts'
import { itUnless, NOT_LINUX, NOT_ROOT } from '../support/unless.ts'

let root: string
let dataDir: string
let worker: Worker | undefined
const running: EmbeddedPostgres[] = []

beforeEach(async () => {
  root = await temporaryFolder()
  dataDir = join(root, 'data')
})
afterEach(async () => {
  await worker?.kill()
  worker = undefined
  await Promise.all(running.splice(0).map((server) => server.stop()))
  await removeFolder(root)
})

const database = () => join(dataDir, 'postgres')
const query = (text: string) => queryEmbedded(database(), text)

async function start(): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, connections: 4, log: createRecordingLog() })
  running.push(server)
  return server
}

/** A database that is there already, to save the seconds that making one takes. */
async function existing(): Promise<void> {
  await mkdir(dataDir, { mode: 0o700 })
  await cp(newDatabaseFolder()!, database(), { recursive: true })
}

describe('an embedded database', () => {
  it('replaces what an interrupted start has left of a new one', async () => {
    await mkdir(join(dataDir, 'postgres.new/base'), { recursive: true })
    await writeFile(join(dataDir, 'postgres.new/PG_VERSION'), '18\n')
    await start()
    expect(await query('select 1 as one')).toEqual([{ one: 1 }])
    expect(await readdir(dataDir)).not.toContain('postgres.new')
  })

  it('takes a folder that was restored or mounted with other modes', async () => {
    await existing()
    await chmod(database(), 0o775)
    await start()
    expect((await stat(database())).mode & 0o777).toBe(0o700)
  })

  itUnless(NOT_LINUX)('ends the server of one that was killed, although it does not answer', async () => {
    await existing()
    worker = startWorker(new URL('../process/embedded-postgres/embedded-worker.ts', import.meta.url), [dataDir])
    await worker.next()
    const before = await processesOn(database())
    worker?.process.kill('SIGSTOP')
    for (const pid of shellsAmong(before)) process.kill(pid, 'SIGKILL')
    const orphan = serverAmong(before)!
    process.kill(orphan, 'SIGSTOP')
    await worker?.kill()
    try {
      await start()
      expect(isRunning(orphan)).toBe(false)
    } finally {
      if (isRunning(orphan)) process.kill(orphan, 'SIGKILL')
    }
  })

  itUnless(NOT_ROOT)(
    'starts although its process id belongs to another process, as after a restart of a container',
    async () => {
      await existing()
      await (await start()).stop()
      const { uid, gid } = await stat(database())
      const other = spawn('sleep', ['60'], { uid, gid, stdio: 'ignore' })
      try {
        const lines = [other.pid, '/proc/self/cwd', 1, 5432, '.', '', '  1 1', 'ready']
        const stale = join(database(), 'postmaster.pid')
        await writeFile(stale, `${lines.join('\n')}\n`, { mode: 0o600 })
        await chown(stale, uid, gid)
        await writeFile(join(database(), '.s.PGSQL.5432.lock'), `${lines.slice(0, 5).join('\n')}\n`)
        await start()
        expect(await query('select 1 as one')).toEqual([{ one: 1 }])
        expect(isRunning(other.pid!)).toBe(true)
      } finally {
        other.kill()
      }
    },
  )
})
