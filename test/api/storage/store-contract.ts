/**
 * What every database must do for Keyturn, run on each kind: one migrated database, emptied before each test.
 *
 * Tests with several processes or a failing server are in the files for PostgreSQL alone.
 */
import { afterAll, beforeAll, beforeEach, describe } from '@jest/globals'
import { DEFAULT_ROTATION_POLICY } from '../../../src/domain/keys/rotation-policy.ts'
import { writeRotation } from '../../../src/storage/keys/rotation-row.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { describeAuditLog } from './audit-log-contract.ts'
import { describeAuditReader } from './audit-reader-contract.ts'
import { describeAuthority } from './authority-contract.ts'
import { describeChangeTime } from './change-time-contract.ts'
import { describeChangedUsers } from './changed-users-contract.ts'
import { describeConsoleStore } from './console-store-contract.ts'
import { describeCredentialExpiries } from './credential-expiries-contract.ts'
import { describeCredentialUses } from './credential-uses-contract.ts'
import { describeFederationStore } from './federation-store-contract.ts'
import { describeForgedRows } from './forged-rows-contract.ts'
import { describeIdentityModel } from './identity-model-contract.ts'
import { describeIdentityStore } from './identity-store-contract.ts'
import { describeInstanceInitializer } from './instance-initializer-contract.ts'
import { describeInstanceReader } from './instance-reader-contract.ts'
import { describeKeyStore } from './key-store-contract.ts'
import { describeMigrations } from './migrate-contract.ts'
import { describeSchema } from './schema-contract.ts'
import { describeSealedKeyStore } from './sealed-key-store-contract.ts'
import { describeWebhookStore } from './webhook-store-contract.ts'

/** Runs the whole contract. `openEmpty` opens a database without any table; the contract closes it. */
export function describeStore(kind: string, openEmpty: () => Promise<Database>): void {
  describeParts(`storage on ${kind}`, openEmpty, (current) => {
    describeKeyStore(current)
    describeChangeTime(current)
    describeSealedKeyStore(current)
    describeSchema(current)
    describeInstanceReader(current)
    describeChangedUsers(current)
    describeInstanceInitializer(current)
    describeAuthority(current)
    describeIdentityStore(current)
    describeIdentityModel(current)
    describeFederationStore(current)
    describeConsoleStore(current)
    describeAuditLog(current)
    describeAuditReader(current)
    describeCredentialExpiries(current)
    describeCredentialUses(current)
    describeWebhookStore(current)
    describeForgedRows(current)
    describeMigrations(openEmpty)
  })
}

/** Runs the parts of the contract about changes under a lock, which are what a connection pooler could break. */
export function describeLockedChanges(kind: string, openEmpty: () => Promise<Database>): void {
  describeParts(`changes under a lock on ${kind}`, openEmpty, (current) => {
    describeKeyStore(current)
    describeInstanceInitializer(current)
    describeAuthority(current)
    describeCredentialUses(current)
  })
}

function describeParts(
  name: string,
  openEmpty: () => Promise<Database>,
  describeAll: (current: () => Database) => void,
): void {
  describe(name, () => {
    let database: Database | undefined

    beforeAll(async () => {
      database = await openEmpty()
      await migrate(database)
    })
    beforeEach(async () => {
      await empty(database!)
    })
    afterAll(async () => {
      await database?.close()
    })

    describeAll(() => database!)
  })
}

async function empty({ db }: Database): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx.deleteFrom('web_keys').execute()
    await trx.deleteFrom('revoked_web_keys').execute()
    await writeRotation(trx, { policy: { ...DEFAULT_ROTATION_POLICY, enabled: false }, requestedAt: null })
    await trx.deleteFrom('service_users').execute()
    await trx.deleteFrom('trusted_issuers').execute()
    await trx.deleteFrom('projects').execute()
    await trx.deleteFrom('audit_events').execute()
    await trx.deleteFrom('used_assertions').execute()
    await trx.deleteFrom('replicas').execute()
    const dates = { initialised_at: null, changed_at: null }
    const nothing = { ...dates, version: 0, issuer: null, sealed_integrity_key: null, audit_epoch: 0 }
    await trx.updateTable('instance').set(nothing).execute()
  })
}
