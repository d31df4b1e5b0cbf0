/**
 * The part of the contract about migrations. Each test opens a database of its own.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { createInstanceReader } from '../../src/storage/instance-reader.ts'
import { migrate } from '../../src/storage/migrate.ts'

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
    it('runs what is missing, in order, and then nothing', async () => {
      const database = await open()
      expect(await migrate(database)).toEqual(['0001-initial-schema'])
      expect(await migrate(database)).toEqual([])
      expect(await createInstanceReader(database).version()).toBe(0)
    })

    it('runs everything once when several ask at once', async () => {
      const database = await open()
      const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database)))
      expect(results.flat()).toEqual(['0001-initial-schema'])
    })

    it('refuses a database of a newer version and says so', async () => {
      const database = await open()
      await migrate(database)
      await sql`insert into kysely_migration values ('9999-future', '2999-01-01T00:00:00.000Z')`.execute(database.db)
      await expect(migrate(database)).rejects.toThrow('migrated by a newer version of Keyturn: it has 9999-future')
    })

    it('names the migration that fails, and leaves nothing of it', async () => {
      const database = await open()
      await sql`create table project_scopes ()`.execute(database.db)
      await expect(migrate(database)).rejects.toThrow(
        'migration 0001-initial-schema failed: relation "project_scopes" already exists',
      )
      const { rows } = await sql<{ found: string | null }>`select to_regclass('web_keys')::text as found`.execute(
        database.db,
      )
      expect(rows).toEqual([{ found: null }])
    })
  })
}
