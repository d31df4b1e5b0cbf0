import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Kysely, sql } from 'kysely'
import { embeddedDialect } from '../../../src/storage/embedded-dialect.ts'
import { openFolder } from '../../../src/storage/embedded-folder.ts'
import { openDatabase } from '../../../src/storage/postgres/database.ts'
import { migrate } from '../../../src/storage/schema/migrate.ts'
import { eventually } from '../../support/eventually.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { createRecordingLog } from '../../support/log.ts'
import { startWorker, type Worker } from '../../support/processes.ts'

describe('an embedded database in a folder', () => {
  let root: string
  let folder: string
  let worker: Worker | undefined

  const open = () => openDatabase({ kind: 'embedded', folder, log: createRecordingLog() })

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'keyturn-embedded-'))
    folder = join(root, 'a', 'database')
  })
  afterEach(async () => {
    await worker?.kill()
    await rm(root, { recursive: true, force: true })
  })

  it('is there again after it was closed, for its owner alone', async () => {
    const first = await open()
    await migrate(first)
    const created = await keyOperations(first).create()
    await first.close()
    await first.close()
    expect((await stat(folder)).mode & 0o777).toBe(0o700)

    const second = await open()
    expect(await migrate(second)).toEqual([])
    expect((await keyOperations(second).look()).ring).toEqual([created])
    await second.close()
  })

  it('has what was committed before the process was killed', async () => {
    worker = startWorker(new URL('embedded-worker.ts', import.meta.url), [folder])
    const { keyId } = await worker.next<{ keyId: string }>()
    await worker.kill()
    const database = await open()
    expect((await keyOperations(database).look()).ring).toMatchObject([{ keyId }])
    await database.close()
  })

  it('does not keep its log for ever', async () => {
    const database = await open()
    await sql`create table notes (id int primary key, text text)`.execute(database.db)
    await sql`insert into notes values (1, '')`.execute(database.db)
    const text = randomBytes(500_000).toString('base64')
    for (let round = 0; round < 400; round += 1) {
      await database.db
        .transaction()
        .execute((trx) => sql`update notes set text = ${round + text} where id = 1`.execute(trx))
    }
    const segments = (await readdir(join(folder, 'pg_wal'))).filter((name) => /^[0-9A-F]{24}$/.test(name))
    await database.close()
    // More than 250 MB in all, of which PostgreSQL keeps some of its files of 16 MB for later.
    expect(segments.length).toBeLessThan(14)
  }, 180_000)

  it('finishes what is running before it closes', async () => {
    const database = await open()
    await migrate(database)
    const creating = keyOperations(database).create()
    await database.close()
    const { keyId } = await creating
    const again = await open()
    expect((await keyOperations(again).look()).ring).toMatchObject([{ keyId }])
    await again.close()
  })

  it.each([
    [
      'empty',
      async () =>
        void (await Promise.all((await readdir(folder)).map((name) => rm(join(folder, name), { recursive: true })))),
    ],
    ['missing', () => rm(folder, { recursive: true })],
  ])('is not replaced by a new one when it breaks down and its folder is %s', async (_, lose) => {
    const log = createRecordingLog()
    const session = await openFolder(folder)
    const db = new Kysely<unknown>({ dialect: embeddedDialect(session, folder, log) })
    const ask = () => sql`select 1`.execute(db)
    await ask()
    await session.close()
    await lose()
    await expect(ask()).rejects.toThrow()
    await eventually(() => expect(log.lines.join()).toMatch(/the embedded database is (not )?open/))
    expect(log.lines.join()).toContain('not open yet')
    expect(log.lines.join()).toContain('there is no database in it any more')
    expect(await readdir(folder).catch(() => [])).toEqual([])
    await db.destroy()
  })

  it('says which folder cannot be opened, and leaves a file in its place alone', async () => {
    folder = join(root, 'file')
    await writeFile(folder, 'mine')
    await expect(open()).rejects.toThrow(`the embedded database in ${folder} cannot be opened`)
    expect(await readFile(folder, 'utf8')).toBe('mine')
  })
})
