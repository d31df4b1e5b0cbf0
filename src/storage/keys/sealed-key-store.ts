/**
 * The `SealedKeyStore` on a database: the sealed private keys of all web keys, the sealed secrets of webhooks, and the
 * sealed integrity key.
 *
 * Replacing one raises the version of the instance, so that a replica that could not open the active key tries again.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import { NO_USER } from '../../domain/changes.ts'
import { parseKeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import type { SealedKey, SealedKeyStore, SealedWebhookSecret, SealedWebKey } from '../../domain/keys/sealed-keys.ts'
import { changeForResult } from '../change/instance-change.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'

export function createSealedKeyStore(database: Database): SealedKeyStore {
  const { db } = database
  return {
    list: () => usingStorageWithRetries(() => db.transaction().execute(readAll)),
    find: (keyIds) => usingStorageWithRetries(() => readSome(db, keyIds)),
    findInitial: () => usingStorageWithRetries(() => readInitial(db)),
    integrityKey: () => usingStorageWithRetries(() => readIntegrityKey(db)),

    replace: (key, sealed, entry) =>
      changeForResult(database, entry, {
        read: (trx) => readOne(trx, key),
        decide: (before) => ({ result: before === key.sealed, changedUsers: NO_USER }),
        write: async (trx, _before, { result: isSame }) => {
          if (isSame) await write(trx, key, sealed)
          return isSame
        },
      }),
  }
}

async function readAll(trx: Transaction<Tables>): Promise<readonly SealedKey[]> {
  const integrityKey = await readIntegrityKey(trx)
  const webKeys = (await selectSealed(trx).orderBy('creation_date').orderBy('key_id').execute()).flatMap(toSealedWebKey)
  const webhookSecrets = (await selectWebhookSecrets(trx).execute()).flatMap(toWebhookSecrets)
  const keys = [...webKeys, ...webhookSecrets]
  return integrityKey === null ? keys : [{ kind: 'integrity_key', sealed: integrityKey }, ...keys]
}

async function readSome(db: Kysely<Tables>, keyIds: readonly string[]): Promise<readonly SealedWebKey[]> {
  // PostgreSQL has no NUL in texts, and refuses a statement with one.
  const possible = keyIds.filter((keyId) => !keyId.includes('\0'))
  const rows = await selectSealed(db).where(sql<boolean>`key_id = any(${possible}::text[])`).execute()
  return rows.flatMap(toSealedWebKey)
}

async function readInitial(db: Kysely<Tables>): Promise<readonly SealedWebKey[]> {
  return (await selectSealed(db).where('state', '=', 'initial').execute()).flatMap(toSealedWebKey)
}

function selectSealed(db: Kysely<Tables>) {
  return db.selectFrom('web_keys').select(['key_id', 'algorithm', 'sealed_private_key'])
}

/** Empty if the private key was destroyed. @throws {UnreadableRow} */
function toSealedWebKey(row: {
  readonly key_id: string
  readonly algorithm: string
  readonly sealed_private_key: string | null
}): SealedWebKey[] {
  const { key_id: keyId, algorithm, sealed_private_key: sealed } = row
  if (sealed === null) return []
  return readRow('web_key', keyId, `web key ${keyId}`, () => [
    { kind: 'web_key', keyId, algorithm: parseKeyAlgorithm(algorithm), sealed },
  ])
}

function selectWebhookSecrets(db: Kysely<Tables>) {
  return db
    .selectFrom('webhooks')
    .select(['webhook_id', 'sealed_secret', 'previous_sealed_secret'])
    .orderBy('webhook_id')
}

function toWebhookSecrets(row: {
  readonly webhook_id: string
  readonly sealed_secret: string
  readonly previous_sealed_secret: string | null
}): SealedWebhookSecret[] {
  const secrets = [row.sealed_secret, row.previous_sealed_secret].filter((sealed) => sealed !== null)
  return secrets.map((sealed) => ({ kind: 'webhook_secret', webhookId: row.webhook_id, sealed }))
}

async function readIntegrityKey(db: Kysely<Tables>): Promise<string | null> {
  const row = await db
    .selectFrom('instance')
    .select('sealed_integrity_key')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  return row.sealed_integrity_key
}

async function readOne(trx: Transaction<Tables>, key: SealedKey): Promise<string | null> {
  if (key.kind === 'integrity_key') return await readIntegrityKey(trx)
  if (key.kind === 'web_key') return (await readSome(trx, [key.keyId]))[0]?.sealed ?? null
  const rows = await selectWebhookSecrets(trx).where('webhook_id', '=', key.webhookId).execute()
  return rows.flatMap(toWebhookSecrets).find(({ sealed }) => sealed === key.sealed)?.sealed ?? null
}

async function write(trx: Transaction<Tables>, key: SealedKey, sealed: string): Promise<void> {
  switch (key.kind) {
    case 'integrity_key':
      await trx.updateTable('instance').set({ sealed_integrity_key: sealed }).where('id', '=', 1).execute()
      return
    case 'web_key':
      await trx.updateTable('web_keys').set({ sealed_private_key: sealed }).where('key_id', '=', key.keyId).execute()
      return
    case 'webhook_secret': {
      const webhook = trx.updateTable('webhooks').where('webhook_id', '=', key.webhookId)
      await webhook.set({ sealed_secret: sealed }).where('sealed_secret', '=', key.sealed).execute()
      await webhook.set({ previous_sealed_secret: sealed }).where('previous_sealed_secret', '=', key.sealed).execute()
    }
  }
}
