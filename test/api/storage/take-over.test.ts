import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { generateTakeOver, openIntegrity } from '../../../src/crypto/integrity-key.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { migrate, needsTakeOver } from '../../../src/storage/schema/migrate.ts'
import type { TakenOver } from '../../../src/storage/schema/take-over.ts'
import { createRecordingLog } from '../../support/log.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import { addOlderKey, fillOlder, migrateToOlder } from '../../support/older-instance.ts'
import type { TestPostgres } from '../../support/postgres.ts'

/** More than one statement changes. */
const MANY = 4001

describe('taking over an instance from before there were integrity keys', () => {
  let postgres: TestPostgres
  const masterKey = generateMasterKey()
  const masterKeys = parseMasterKeys(masterKey)
  const opened: Database[] = []
  const openOlder = async () => {
    const url = await postgres.createDatabase()
    const database = await openDatabase({ url, log: createRecordingLog() })
    opened.push(database)
    await migrateToOlder(database)
    return { database, older: await fillOlder(database, masterKey) }
  }
  const takeOver = async (database: Database): Promise<TakenOver | undefined> => {
    let taken: TakenOver | undefined
    const onTakenOver = (what: TakenOver) => {
      taken = what
    }
    await migrate(database, { takeOver: await generateTakeOver(masterKeys), onTakenOver })
    return taken
  }
  const integrityOf = async (database: Database) => {
    const sealed = await createSealedKeyStore(database).integrityKey()
    return await openIntegrity(sealed!, masterKeys)
  }
  const hasColumns = async ({ db }: Database) => {
    const { rows } = await sql`
      select 1 from information_schema.columns where column_name in ('mac', 'sealed_integrity_key')`.execute(db)
    return rows.length > 0
  }
  /** Everything of the rows that could have been changed. */
  const rowsOf = async ({ db }: Database) => ({
    keys: (await sql`select * from web_keys order by key_id`.execute(db)).rows,
    secrets: (await sql`select * from client_secrets order by secret_id`.execute(db)).rows,
    events: (await sql`select * from audit_events`.execute(db)).rows,
  })

  beforeAll(async () => {
    postgres = sharedPostgres()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()))
  })
  afterAll(async () => {
    await postgres?.stop()
  })

  it('keeps every key and user, and every secret goes on working', async () => {
    const { database, older } = await openOlder()
    const initial = await addOlderKey(database, masterKey, { state: 'initial' })
    const inactive = await addOlderKey(database, masterKey, { state: 'inactive' })
    expect(await needsTakeOver(database)).toBe(true)
    expect(await takeOver(database)).toEqual({
      webKeys: 3,
      userKeys: 1,
      clientSecrets: 1,
      personalAccessTokens: 1,
      revoked: [],
    })
    expect(await needsTakeOver(database)).toBe(false)
    expect(await takeOver(database)).toBeUndefined()

    const { publicKeys, secrets } = await integrityOf(database)
    const { ring, users } = await createInstanceReader(database, publicKeys).load({ userIds: [older.userId] })
    expect(ring.map(({ keyId, state }) => `${keyId} ${state}`).sort()).toEqual(
      [`${older.activeKeyId} active`, `${initial} initial`, `${inactive} inactive`].sort(),
    )
    const user = users.get(older.userId)
    expect(user?.keys).toMatchObject([{ keyId: older.userKeyId, publicJwk: { kid: 'mine' } }])
    expect(secrets.matches(older.clientSecret, [user!.secrets[0]!.hash])).toBe(true)
    const hash = secrets.hashPersonalAccessToken(older.personalAccessToken)
    const identities = createIdentityStore(database, publicKeys)
    expect(await identities.findUserByPersonalAccessToken(hash)).toEqual(user)
    const { rows } = await sql`select actor, action, resource from audit_events`.execute(database.db)
    expect(rows).toEqual([{ actor: 'system', action: 'integrity/take_over', resource: 'integrity_key' }])
  })

  it('hashes every secret anew, however many there are', async () => {
    const { database, older } = await openOlder()
    const known = `insert into client_secrets (secret_id, user_id, hash, creation_date)
        select gen_random_uuid(), '${older.userId}', sha256(i::text::bytea), now() from generate_series(1, ${MANY}) i`
    await sql.raw(known).execute(database.db)
    expect(await takeOver(database)).toMatchObject({ clientSecrets: MANY + 1 })
    const { secrets } = await integrityOf(database)
    const rows = await database.db.selectFrom('client_secrets').select('hash').execute()
    const hashes = rows.map(({ hash }) => new Uint8Array(hash))
    const found = Array.from({ length: MANY }, (_, i) => secrets.matches(String(i + 1), hashes))
    expect(found.filter((matches) => !matches)).toHaveLength(0)
  })

  it('is done once when several programs begin at the same time', async () => {
    const { database } = await openOlder()
    const outcomes = await Promise.all([takeOver(database), takeOver(database), takeOver(database)])
    expect(outcomes.filter((taken) => taken !== undefined)).toHaveLength(1)
    const { publicKeys } = await integrityOf(database)
    expect((await createInstanceReader(database, publicKeys).load()).ring).toHaveLength(1)
  })

  it('is refused without the master keys, and the database stays as it was', async () => {
    const { database } = await openOlder()
    const before = await rowsOf(database)
    await expect(migrate(database)).rejects.toThrow('run this with its master keys')
    expect(await hasColumns(database)).toBe(false)
    expect(await rowsOf(database)).toEqual(before)
  })

  it.each([
    ['has a private key that was sealed for another', { state: 'initial', sealed: 'other' }, 'sealed for another'],
    ['has an id that is not its thumbprint', { state: 'inactive', keyId: 'chosen' }, 'not the thumbprint'],
  ] as const)('is refused for a web key that %s, which is named', async (_, planted, reason) => {
    const { database } = await openOlder()
    const keyId = await addOlderKey(database, masterKey, planted)
    const before = await rowsOf(database)
    await expect(takeOver(database)).rejects.toThrow(new RegExp(`web key ${keyId} cannot be taken over: .*${reason}`))
    expect(await hasColumns(database)).toBe(false)
    expect(await rowsOf(database)).toEqual(before)
  })

  it('is refused for a key of a service user that cannot be read, which is named', async () => {
    const { database, older } = await openOlder()
    await sql`update user_keys set public_jwk = '{}'`.execute(database.db)
    await expect(takeOver(database)).rejects.toThrow(`user key ${older.userKeyId} cannot be taken over: `)
    expect(await hasColumns(database)).toBe(false)
  })

  it('is refused for a web key whose master key is not there, and says which one that is', async () => {
    const { database } = await openOlder()
    const other = generateMasterKey()
    const keyId = await addOlderKey(database, other, { state: 'initial' })
    await expect(takeOver(database)).rejects.toThrow(
      new RegExp(`web key ${keyId} cannot be taken over: .*master key "${other.split(':')[0]}" sealed it`),
    )
  })

  it('waits for the last token of a key that cannot be proved, and then revokes it', async () => {
    const { database } = await openOlder()
    const keyId = await addOlderKey(database, masterKey, {
      state: 'inactive',
      sealed: 'destroyed',
      inactiveHours: 47,
    })
    await expect(takeOver(database)).rejects.toThrow(
      new RegExp(`web key ${keyId} cannot be taken over: its private key was destroyed: start this version after `),
    )
    await sql`
        update web_keys set creation_date = creation_date - interval '1 hour',
          activation_date = activation_date - interval '1 hour', deactivation_date = deactivation_date - interval '1 hour'
          where key_id = ${keyId}`.execute(database.db)
    expect(await takeOver(database)).toMatchObject({ webKeys: 1, revoked: [keyId] })

    const { publicKeys } = await integrityOf(database)
    expect((await createInstanceReader(database, publicKeys).load()).ring).toHaveLength(1)
    const record = await createKeyStore(database, publicKeys).findRevoked(keyId)
    expect(record).toMatchObject({ keyId, state: 'revoked' })
    const { rows } = await sql`select resource from audit_events where action = 'integrity/revoke'`.execute(database.db)
    expect(rows).toEqual([{ resource: `web_keys/${keyId}` }])
  })

  it('cannot be started again by a change of rows', async () => {
    const { database } = await openOlder()
    await takeOver(database)
    const { db } = database
    for (const row of [
      sql`update instance set sealed_integrity_key = null`,
      sql`update web_keys set mac = null`,
      sql`update user_keys set mac = null`,
    ]) {
      await expect(row.execute(db)).rejects.toMatchObject({ code: expect.stringMatching(/^23/) })
    }
    await sql`update client_secrets set hash = ${randomBytes(32)}`.execute(db)
    await sql`update instance set schema_major = 1`.execute(db)
    await sql`delete from kysely_migration where name >= '0005'`.execute(db)
    const before = await rowsOf(database)
    await expect(takeOver(database)).rejects.toThrow('migration 0005-integrity failed: column')
    expect(await rowsOf(database)).toEqual(before)
  })
})
