/** A start of the embedded database that is aborted, as SIGTERM does: it ends soon, and leaves no process and no lock. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts'
import { eventually } from '../support/eventually.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { createRecordingLog } from '../support/log.ts'
import { processesOn } from '../support/server-processes.ts'
import { describeUnless, NOT_LINUX } from '../support/unless.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await temporaryFolder()
})
afterEach(() => removeFolder(dataDir))

const start = (signal?: AbortSignal) =>
  startEmbeddedPostgres({ dataDir, connections: 4, log: createRecordingLog(), signal })

describeUnless(NOT_LINUX)('the start of an embedded database', () => {
  it('that is aborted while the database is made leaves none behind, and the next start works', async () => {
    const aborting = new AbortController()
    const starting = start(aborting.signal)
    starting.catch(() => {})
    await eventually(async () => expect(await readdir(dataDir)).toContain('postgres.new'))
    aborting.abort(new Error('enough'))
    await expect(starting).rejects.toThrow(/^enough$/)
    expect(await readdir(dataDir)).not.toContain('postgres')

    const server = await start()
    await server.stop()
  })

  it('that is aborted while PostgreSQL starts leaves no process behind, and the next start works', async () => {
    const first = await start()
    await first.stop()
    const aborting = new AbortController()
    const starting = start(aborting.signal)
    starting.catch(() => {})
    await eventually(async () => expect(await processesOn(join(dataDir, 'postgres'))).not.toEqual([]))
    aborting.abort(new Error('enough'))
    await expect(starting).rejects.toThrow(/^enough$/)
    await eventually(async () => expect(await processesOn(join(dataDir, 'postgres'))).toEqual([]))

    const server = await start()
    await server.stop()
  })
})
