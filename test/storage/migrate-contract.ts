/**
 * The part of the contract about migrations. Each test opens a database of its own.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { createIdentityStore } from '../../src/storage/identity-store.ts'
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
      expect(await migrate(database)).toEqual(['0001-initial-schema', '0002-identities'])
      expect(await migrate(database)).toEqual([])
      expect(await createInstanceReader(database).version()).toBe(0)
    })

    it('runs everything once when several ask at once', async () => {
      const database = await open()
      const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database)))
      expect(results.flat()).toEqual(['0001-initial-schema', '0002-identities'])
    })

    it('keeps what a database of the first version has', async () => {
      const database = await open()
      await migrate(database)
      // Back to the first version, with a project in it.
      const { db } = database
      for (const table of ['used_assertions', 'audit_events', 'personal_access_tokens', 'user_keys'] as const) {
        await db.schema.dropTable(table).execute()
      }
      for (const index of ['projects_by_name', 'service_users_by_creation', 'service_users_of_project_by_creation']) {
        await db.schema.dropIndex(index).execute()
      }
      await db.schema.alterTable('projects').dropColumn('creation_date').execute()
      await db.schema.alterTable('client_secrets').dropColumn('last_use_date').execute()
      await sql`create index service_users_of_project on service_users (project_id)`.execute(db)
      await sql`delete from kysely_migration where name = '0002-identities'`.execute(db)
      const projectId = randomUUID()
      await sql`insert into projects (project_id, name) values (${projectId}, 'billing')`.execute(db)

      expect(await migrate(database)).toEqual(['0002-identities'])
      expect(await createIdentityStore(database).findProject(projectId)).toMatchObject({
        name: 'billing',
        createdAt: expect.any(Date),
      })
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
