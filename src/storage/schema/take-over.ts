/**
 * Takes an instance of a version without integrity keys over: gives it a key, MACs for its public keys, and HMACs for its
 * secrets. Decision 11 says which of its rows can be proved.
 *
 * It is a part of the migration `0005-integrity`, in the same transaction: if it fails, the instance is unchanged.
 * So it names columns and events itself, as they are at that point of the schema's history.
 *
 * It uses the current readers of public keys, MACs and hashes (`TakeOver`), because the current program has to accept the
 * rows. Their forms are fixed: `test/unit/crypto/integrity-key.test.ts` computes the MACs by hand, and `test/api/storage/take-over.test.ts`
 * takes over rows of the previous version. A change of a form needs a migration of the existing rows, and a copy of the old
 * form in this file.
 */
import { type Kysely, sql } from 'kysely'
import type { TakeOver } from '../../domain/integrity.ts'
import { after } from '../../domain/time.ts'
import { toUserJwk } from '../identities/credential-row.ts'
import { toKeyPairFacts } from '../keys/web-key-row.ts'
import type { Tables } from './tables.ts'

/** What was taken over. */
export interface TakenOver {
  readonly webKeys: number
  readonly userKeys: number
  readonly clientSecrets: number
  readonly personalAccessTokens: number
  /** Web keys that could not be proved, and were revoked. */
  readonly revoked: readonly string[]
}

/** Rows per statement, so that no statement takes long. */
const BATCH = 2000

/** All tokens of a key have expired this long after its deactivation: the longest lifetime and the longest staleness. */
const NO_TOKEN_LEFT_SECONDS = 2 * 86_400

/**
 * Takes over an instance.
 *
 * @throws {Error} that names a key that cannot be read or proved, and says what to do.
 */
export async function takeOverInstance(db: Kysely<Tables>, takeOver: TakeOver): Promise<TakenOver> {
  // Replicas of the previous version write last uses of secrets in any order, which could deadlock with the updates here.
  await sql`lock table client_secrets, personal_access_tokens, user_keys in share row exclusive mode`.execute(db)
  await db.updateTable('instance').set({ sealed_integrity_key: takeOver.sealedIntegrityKey }).execute()
  const { at: now } = await readNow(db)
  const webKeys = await takeOverWebKeys(db, takeOver, now)
  await takeOverRevokedWebKeys(db, takeOver)
  const taken = {
    ...webKeys,
    userKeys: await takeOverUserKeys(db, takeOver),
    clientSecrets: await hashAgain(db, CLIENT_SECRETS, takeOver.clientSecretHash),
    personalAccessTokens: await hashAgain(db, PERSONAL_ACCESS_TOKENS, takeOver.personalAccessTokenHash),
  }
  await writeEvent(db, { action: 'integrity/take_over', resource: 'integrity_key', at: now })
  return taken
}

async function readNow(db: Kysely<Tables>): Promise<{ readonly at: Date }> {
  return await db
    .selectFrom('instance')
    .select(sql<Date>`date_trunc('milliseconds', clock_timestamp())`.as('at'))
    .executeTakeFirstOrThrow()
}

/** A key is proved by its sealed private key: it was sealed for the key id, which is the thumbprint of the public key. */
async function takeOverWebKeys(db: Kysely<Tables>, { publicKeys, prove }: TakeOver, now: Date) {
  const { rows } = await sql<WebKeyRow>`
    select key_id, algorithm, public_jwk, sealed_private_key, deactivation_date from web_keys order by key_id`.execute(
    db,
  )
  const revoked: string[] = []
  for (const row of rows) {
    const { key_id: keyId, sealed_private_key: sealed } = row
    const key = await naming(keyId, () => toKeyPairFacts(row))
    if (sealed === null) {
      await naming(keyId, () => assertNoTokenLeft(row, now))
      await revoke(db, keyId, { mac: publicKeys.ofRevokedWebKey(key), at: now })
      revoked.push(keyId)
    } else {
      const mac = await naming(keyId, () => publicKeys.ofWebKey(key))
      await naming(keyId, () => prove({ ...key, kind: 'web_key', sealed }))
      await sql`update web_keys set mac = ${mac} where key_id = ${keyId}`.execute(db)
    }
  }
  return { webKeys: rows.length - revoked.length, revoked }
}

/** Names the web key in an error. */
async function naming<T>(keyId: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw notTakenOver(`web key ${keyId}`, error, 'delete or revoke the web key')
  }
}

function notTakenOver(key: string, cause: unknown, wayOut: string): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const advice = `check KEYTURN_MASTER_KEYS and mend that; only if it cannot be mended, ${wayOut} with the version before`
  return new Error(`${key} cannot be taken over: ${reason}: ${advice}`, { cause })
}

type KeyPairRow = Parameters<typeof toKeyPairFacts>[0]

interface WebKeyRow extends KeyPairRow {
  readonly sealed_private_key: string | null
  readonly deactivation_date: Date | null
}

/** A key whose private key was destroyed cannot be proved. It is revoked once all its tokens have expired. */
function assertNoTokenLeft(row: WebKeyRow, now: Date): void {
  const from = row.deactivation_date === null ? now : after(row.deactivation_date, NO_TOKEN_LEFT_SECONDS)
  if (from < now) return
  const when = `start this version after ${from.toISOString()}, when no token of it is left and it is given up`
  throw new Error(`its private key was destroyed: ${when}`)
}

async function revoke(
  db: Kysely<Tables>,
  keyId: string,
  { mac, at }: { readonly mac: Uint8Array; readonly at: Date },
): Promise<void> {
  await sql`
    insert into revoked_web_keys
        (key_id, algorithm, public_jwk, creation_date, activation_date, deactivation_date, revocation_date, mac)
      select key_id, algorithm, public_jwk, creation_date, activation_date, deactivation_date, ${at}, ${mac}
        from web_keys where key_id = ${keyId}`.execute(db)
  await db.deleteFrom('web_keys').where('key_id', '=', keyId).execute()
  await writeEvent(db, { action: 'integrity/revoke', resource: `web_keys/${keyId}`, at })
}

/** Revoked keys are not trusted, so they need no proof. */
async function takeOverRevokedWebKeys(db: Kysely<Tables>, { publicKeys }: TakeOver): Promise<void> {
  const { rows } = await sql<KeyPairRow>`
    select key_id, algorithm, public_jwk from revoked_web_keys`.execute(db)
  for (const row of rows) {
    const mac = publicKeys.ofRevokedWebKey(await naming(row.key_id, () => toKeyPairFacts(row)))
    await sql`update revoked_web_keys set mac = ${mac} where key_id = ${row.key_id}`.execute(db)
  }
}

/** A table whose rows are changed in batches. */
interface Batches<Row> {
  readonly table: string
  readonly id: string
  /** The columns from which a new value is computed. */
  readonly from: readonly string[]
  /** The column that gets it. */
  readonly to: string
  readonly change: (row: Row & { readonly id: string }) => Uint8Array
}

function takeOverUserKeys(db: Kysely<Tables>, { publicKeys }: TakeOver): Promise<number> {
  return changeAll<{ readonly user_id: string; readonly public_jwk: unknown }>(db, {
    table: 'user_keys',
    id: 'key_id',
    from: ['user_id', 'public_jwk'],
    to: 'mac',
    change: ({ id, user_id, public_jwk }) => {
      try {
        return publicKeys.ofUserKey(user_id, { keyId: id, publicJwk: toUserJwk(public_jwk) })
      } catch (error) {
        throw notTakenOver(`user key ${id}`, error, `delete that key of the service user ${user_id}`)
      }
    },
  })
}

const CLIENT_SECRETS = { table: 'client_secrets', id: 'secret_id' }
const PERSONAL_ACCESS_TOKENS = { table: 'personal_access_tokens', id: 'token_id' }

function hashAgain(
  db: Kysely<Tables>,
  where: typeof CLIENT_SECRETS,
  again: (sha256: Uint8Array) => Uint8Array,
): Promise<number> {
  return changeAll<{ readonly hash: Uint8Array }>(db, {
    ...where,
    from: ['hash'],
    to: 'hash',
    change: ({ hash }) => again(hash),
  })
}

async function changeAll<Row>(db: Kysely<Tables>, { table, id, from, to, change }: Batches<Row>): Promise<number> {
  const [target, key] = [sql.table(table), sql.ref(id)]
  let after = '00000000-0000-0000-0000-000000000000'
  for (let count = 0; ; ) {
    const { rows } = await sql<Row & { readonly id: string }>`
      select ${key} as id, ${sql.join(from.map((name) => sql.ref(name)))} from ${target}
        where ${key} > ${after}::uuid order by ${key} limit ${BATCH}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return count
    const ids = rows.map((row) => row.id)
    const values = rows.map((row) => Buffer.from(change(row)))
    await sql`
      update ${target} set ${sql.ref(to)} = n.value
        from unnest(${ids}::uuid[], ${values}::bytea[]) as n(id, value) where ${key} = n.id`.execute(db)
    count += rows.length
    after = last.id
  }
}

async function writeEvent(
  db: Kysely<Tables>,
  { action, resource, at }: { readonly action: string; readonly resource: string; readonly at: Date },
): Promise<void> {
  await sql`
    insert into audit_events (event_id, event_date, actor, action, resource, outcome, request_id)
      values (gen_random_uuid(), ${at}, 'system', ${action}, ${resource}, 'ok', '')`.execute(db)
}
