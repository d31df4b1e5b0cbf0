/**
 * The part of the contract about migrations. Each test opens a database of its own.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createInstanceInitializer } from '../../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { newInstanceContent } from '../../support/instance-content.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'

const ALL = ['0001-initial-schema']

/** A migration of a newer program of the same major version: it adds. */
async function addLaterMigration({ db }: Database): Promise<void> {
  await sql`alter table web_keys add column note text not null default 'none'`.execute(db)
  await sql`insert into migrations values ('9000-notes')`.execute(db)
}

/** A migration of the next major version: it breaks older programs. */
async function raiseMajor({ db }: Database): Promise<void> {
  await sql`insert into migrations values ('9001-another-world')`.execute(db)
  await sql`update instance set schema_major = 2`.execute(db)
}

const REFUSAL =
  'a newer version of Keyturn has changed the database (schema 2, this version knows 1): ' +
  'run the newer version here too, or restore the backup from before the upgrade'

export function describeMigrations(openEmpty: () => Promise<Database>): void {
  const opened: Database[] = []
  const open = async () => {
    const database = await openEmpty()
    opened.push(database)
    return database
  }

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
  })

  describe('migrating', () => {
    it('runs the missing migrations, in order, and then none', async () => {
      const database = await open()
      expect(await migrate(database)).toEqual(ALL)
      expect(await migrate(database)).toEqual([])
      expect((await createInstanceReader(database, TEST_MACS).status()).version).toBe(0)
    })

    it('runs everything once when several ask at once', async () => {
      const database = await open()
      const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database)))
      expect(results.flat()).toEqual(ALL)
    })

    it('refuses a database of a version before the first release', async () => {
      const database = await open()
      await sql`create table kysely_migration (name text)`.execute(database.db)
      await expect(migrate(database)).rejects.toThrow('made by a version of Keyturn before its first release')
      expect((await sql`select to_regclass('migrations') as found`.execute(database.db)).rows).toEqual([
        { found: null },
      ])
    })

    it('changes nothing in a database that a newer program of the same major version has migrated, and works with it', async () => {
      const database = await open()
      await migrate(database)
      await addLaterMigration(database)
      expect(await migrate(database)).toEqual([])
      const { keyId } = await keyOperations(database).create()
      const { ring, version } = await createInstanceReader(database, TEST_MACS).load()
      expect({ version, keyIds: ring.map((key) => key.keyId) }).toEqual({ version: 1, keyIds: [keyId] })
    })

    it('refuses reads and writes of a running program after a migration of a newer major version', async () => {
      const database = await open()
      await migrate(database)
      const [keys, reader] = [keyOperations(database), createInstanceReader(database, TEST_MACS)]
      const { keyId } = await keys.create()
      await raiseMajor(database)
      for (const call of [
        () => keys.activate(keyId),
        () => createInstanceInitializer(database).initialise(newInstanceContent(), async () => {}),
        () => reader.status(),
        () => reader.load(),
        () => reader.findServiceUser(randomUUID()),
      ]) {
        await expect(call()).rejects.toMatchObject({ code: 'storage_unavailable', message: REFUSAL })
      }
      const { rows } = await sql`select version::int as version from instance`.execute(database.db)
      expect(rows).toEqual([{ version: 1 }])
    })
  })
}
