/**
 * An instance of the version before there were integrity keys: its schema, and rows as that version wrote them. Nothing of
 * `src` but the migrations of that time has a part in it.
 */
import { createHash, createSecretKey, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { CompactEncrypt, calculateJwkThumbprint, type JWK } from 'jose'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { initialSchema } from '../../src/storage/migrations/0001-initial-schema.ts'
import { identities } from '../../src/storage/migrations/0002-identities.ts'
import { manyReplicas } from '../../src/storage/migrations/0003-many-replicas.ts'
import { rotation } from '../../src/storage/migrations/0004-rotation.ts'
import type { Database } from '../../src/storage/postgres/database.ts'

const MIGRATIONS = {
  '0001-initial-schema': initialSchema,
  '0002-identities': identities,
  '0003-many-replicas': manyReplicas,
  '0004-rotation': rotation,
}
const HOUR = 3_600_000

/** What it has. The active key is the one of a first start. */
export interface OlderInstance {
  readonly userId: string
  readonly clientId: string
  readonly clientSecret: string
  readonly personalAccessToken: string
  readonly userKeyId: string
  readonly activeKeyId: string
}

/** A web key that it has besides. */
export interface OlderKey {
  readonly state: 'initial' | 'active' | 'inactive'
  /** Sealed for itself, as it was; for another; or destroyed. Default `own`. */
  readonly sealed?: 'own' | 'other' | 'destroyed'
  /** Under its thumbprint, as it was, or another id. */
  readonly keyId?: string
  /** How long ago it was deactivated. */
  readonly inactiveHours?: number
}

/** Makes the schema of that version in an empty database, or an earlier one. */
export async function migrateToOlder({ db }: Database, last: keyof typeof MIGRATIONS = '0004-rotation'): Promise<void> {
  const provider = { getMigrations: async () => MIGRATIONS }
  await db.transaction().execute(async (trx) => {
    const { error } = await new Migrator({ db: trx, provider }).migrateTo(last)
    if (error !== undefined) throw error
  })
}

/** Fills it like a first start with this master key, and adds one credential of each kind for its administrator. */
export async function fillOlder(database: Database, masterKey: string): Promise<OlderInstance> {
  const { db } = database
  const [projectId, userId, userKeyId] = [randomUUID(), randomUUID(), randomUUID()]
  const [clientSecret, personalAccessToken] = ['ktn_cs_', 'ktn_pat_'].map(
    (prefix) => prefix + randomBytes(32).toString('base64url'),
  ) as [string, string]
  const publicJwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  await sql`insert into projects (project_id, name, creation_date) values (${projectId}, 'keyturn', now())`.execute(db)
  await sql`
    insert into service_users
        (user_id, project_id, name, enabled, client_credentials_enabled, creation_date)
      values (${userId}, ${projectId}, 'administrator', true, true, now())`.execute(db)
  await sql`insert into instance_members (user_id, role) values (${userId}, 'IAM_OWNER')`.execute(db)
  await sql`
    insert into client_secrets (secret_id, user_id, hash, creation_date)
      values (${randomUUID()}, ${userId}, ${sha256(clientSecret)}, now())`.execute(db)
  await sql`
    insert into personal_access_tokens (token_id, user_id, hash, creation_date, expiration_date)
      values (${randomUUID()}, ${userId}, ${sha256(personalAccessToken)}, now(), now() + interval '1 day')`.execute(db)
  await sql`
    insert into user_keys (key_id, user_id, public_jwk, creation_date)
      values (${userKeyId}, ${userId}, ${JSON.stringify({ ...publicJwk, kid: 'mine' })}::text::jsonb, now())`.execute(
    db,
  )
  const activeKeyId = await addOlderKey(database, masterKey, { state: 'active' })
  await sql`update instance set initialised_at = now(), version = 1`.execute(db)
  return { userId, clientId: `${userId}@keyturn`, clientSecret, personalAccessToken, userKeyId, activeKeyId }
}

/** Adds a web key (ES256), and returns its id. */
export async function addOlderKey({ db }: Database, masterKey: string, key: OlderKey): Promise<string> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicJwk = publicKey.export({ format: 'jwk' })
  const thumbprint = await calculateJwkThumbprint(publicJwk as JWK)
  const { state, sealed = 'own', keyId = thumbprint, inactiveHours = 0 } = key
  const [id, secret] = masterKey.split(':') as [string, string]
  const jwe = await new CompactEncrypt(privateKey.export({ format: 'der', type: 'pkcs8' }))
    .setProtectedHeader({
      alg: 'A256GCMKW',
      enc: 'A256GCM',
      kid: id,
      cty: 'pkcs8',
      key_id: sealed === 'other' ? 'another' : keyId,
      key_alg: 'ES256',
    })
    .encrypt(createSecretKey(Buffer.from(secret, 'base64url')))
  const deactivated = new Date(Date.now() - inactiveHours * HOUR)
  const created = new Date(deactivated.getTime() - HOUR)
  await sql`
    insert into web_keys
        (key_id, algorithm, state, public_jwk, sealed_private_key, creation_date, activation_date, deactivation_date)
      values (${keyId}, 'ES256', ${state}, ${JSON.stringify(publicJwk)}::text::jsonb,
        ${sealed === 'destroyed' ? null : jwe}, ${created}, ${state === 'initial' ? null : created},
        ${state === 'inactive' ? deactivated : null})`.execute(db)
  return keyId
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
