/**
 * The part of the contract about migrations. Each test opens a database of its own.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { generateTakeOver } from '../../../src/crypto/integrity-key.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { nextStep } from '../../../src/domain/keys/rotation.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../src/domain/keys/rotation-policy.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceInitializer } from '../../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { migrate } from '../../../src/storage/schema/migrate.ts'
import { newInstanceContent } from '../../support/instance-content.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { fillOlder, migrateToOlder } from '../../support/older-instance.ts'

const ALL = [
  '0001-initial-schema',
  '0002-identities',
  '0003-many-replicas',
  '0004-rotation',
  '0005-integrity',
  '0006-publication',
  '0007-issuer',
  '0008-audit-address',
  '0009-expiry',
  '0010-tokens',
  '0011-federation',
  '0012-bound-tokens',
  '0013-issuer-keys',
  '0014-client-certificates',
  '0015-console',
  '0016-replicas',
  '0017-roles',
  '0018-event-order',
  '0019-webhooks',
  '0020-configuration',
  '0021-changed-users',
]

/** A migration of a newer program of the same major version: it adds. */
async function addLaterMigration({ db }: Database): Promise<void> {
  await sql`alter table web_keys add column note text not null default 'none'`.execute(db)
  await sql`insert into kysely_migration values ('9000-notes', '2999-01-01T00:00:00.000Z')`.execute(db)
}

/** A migration of the next major version: it breaks older programs. */
async function raiseMajor({ db }: Database): Promise<void> {
  await sql`insert into kysely_migration values ('9001-another-world', '2999-01-02T00:00:00.000Z')`.execute(db)
  await sql`update instance set schema_major = 3`.execute(db)
}

/** Back to the schema before there were dates of publication. */
async function undoPublication({ db }: Database): Promise<void> {
  await db.schema.alterTable('web_keys').dropColumn('publication_date').execute()
  await db.schema.alterTable('instance').dropColumn('latest_at').dropColumn('issuer').execute()
  for (const column of ['client_address', 'omitted_count', 'omitted_since', 'reason']) {
    await db.schema.alterTable('audit_events').dropColumn(column).execute()
  }
  await sql`alter table client_secrets drop constraint client_secrets_deactivated_after_creation`.execute(db)
  for (const table of ['client_secrets', 'user_keys', 'personal_access_tokens']) {
    const constraint = sql.ref(`${table}_dates_in_order`)
    await sql`alter table ${sql.table(table)} add constraint ${constraint} check (true)`.execute(db)
  }
  for (const table of ['project_audiences', 'revoked_tokens']) await db.schema.dropTable(table).execute()
  for (const column of ['token_lifetime', 'token_claims', 'token_revocation_date']) {
    await db.schema.alterTable('service_users').dropColumn(column).execute()
  }
  await db.schema.alterTable('service_users').dropColumn('bound_tokens_required').execute()
  await db.schema.alterTable('service_users').dropColumn('certificate_bound_tokens').execute()
  for (const table of ['projects', 'service_users'] as const) {
    await db.schema.alterTable(table).dropColumn('configuration_label').execute()
  }
  await sql`drop index service_users_by_name`.execute(db)
  await sql`drop table client_certificates, federated_identities, issuer_keys, trusted_issuers`.execute(db)
  await sql`drop table sign_in_links, console_sessions, replicas, deprecated_calls, instance_changes`.execute(db)
  await sql`drop table webhook_deliveries, webhooks`.execute(db)
  await sql`drop table limited_instance_members, project_members`.execute(db)
  await undoEventOrder({ db })
  await sql`delete from kysely_migration where name >= '0006-publication'`.execute(db)
}

/** Back to the schema before there was an order of events. */
async function undoEventOrder({ db }: Pick<Database, 'db'>): Promise<void> {
  await sql`alter table audit_events drop column epoch, drop column transaction_id, drop column sequence`.execute(db)
  await sql`alter table instance drop column audit_epoch, drop column audit_ordered_since`.execute(db)
  await sql`drop table expiry_notices, audit_exports`.execute(db)
  for (const table of ['client_secrets', 'user_keys', 'personal_access_tokens', 'client_certificates']) {
    await sql`drop index if exists ${sql.ref(`${table}_by_expiration`)}`.execute(db)
  }
  await sql`delete from kysely_migration where name = '0018-event-order'`.execute(db)
}

const REFUSAL =
  'a newer version of Keyturn has changed the database (schema 3, this version knows 2): ' +
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

    it('keeps what a database of the first version has', async () => {
      const database = await open()
      await migrateToOlder(database, '0001-initial-schema')
      const projectId = randomUUID()
      await sql`insert into projects (project_id, name) values (${projectId}, 'billing')`.execute(database.db)

      expect(await migrate(database)).toEqual(ALL.slice(1))
      expect(await createIdentityStore(database, TEST_MACS).findProject(projectId)).toMatchObject({
        name: 'billing',
        createdAt: expect.any(Date),
      })
    })

    it('leaves rotation off for an instance that exists already, and its keys as they are', async () => {
      const database = await open()
      // The version before there was a policy, with a key that signs.
      await migrateToOlder(database, '0003-many-replicas')
      const masterKey = generateMasterKey()
      const { activeKeyId } = await fillOlder(database, masterKey)
      const takeOver = await generateTakeOver(parseMasterKeys(masterKey))

      expect(await migrate(database, { takeOver, onTakenOver: () => {} })).toEqual(ALL.slice(3))
      expect(await createInstanceInitializer(database).initialise(newInstanceContent(), async () => {})).toBe(false)
      const { ring, rotation } = await createInstanceReader(database, takeOver.publicKeys).load()
      expect(ring).toMatchObject([{ keyId: activeKeyId, state: 'active' }])
      expect(rotation).toEqual({ policy: { ...DEFAULT_ROTATION_POLICY, enabled: false }, requestedAt: null })
      const limits = { jwksMaxAgeSeconds: 300, tokenLifetimeSeconds: 3600, maxStalenessSeconds: 300, maxWebKeys: 50 }
      expect(nextStep(rotation, ring, limits)).toBeUndefined()
    })

    it('dates the publication of existing keys at their creation, and stores the newest date', async () => {
      const database = await open()
      await migrate(database)
      const keys = keyOperations(database)
      const [active, initial] = [await keys.create(), await keys.create()]
      await keys.activate(active.keyId)
      const newest = new Date(Date.now() + 60_000)
      const { db } = database
      await undoPublication(database)
      await db.updateTable('audit_events').set({ event_date: newest }).where('action', '=', 'activate').execute()

      expect(await migrate(database)).toEqual(ALL.slice(ALL.indexOf('0006-publication')))
      const { ring, clock } = await createInstanceReader(database, TEST_MACS).load()
      expect(ring).toContainEqual({ ...initial, publishedAt: initial.createdAt })
      expect(clock.latestChange).toEqual(newest)
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

    it('refuses a database that a newer major version has changed, and says what to do', async () => {
      const database = await open()
      await migrate(database)
      await addLaterMigration(database)
      await raiseMajor(database)
      await expect(migrate(database)).rejects.toThrow(REFUSAL)
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
