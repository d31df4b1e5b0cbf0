/**
 * The `KeyStore` on a database: shows the ring and its rotation to the domain and writes what it decides.
 *
 * How a change is locked, audited and announced is in `instance-change.ts`.
 */
import type { Transaction } from 'kysely'
import type { AuditEntry } from '../domain/audit.ts'
import { type KeyRing, type KeyRingStep, planPublication } from '../domain/key-ring.ts'
import type { KeyChange, KeyStore } from '../domain/ports.ts'
import type { Rotation } from '../domain/rotation.ts'
import { datesOf } from '../domain/web-key.ts'
import type { Database } from './database.ts'
import { type ChangeTarget, changeInstance } from './instance-change.ts'
import { readRevokedWebKey, readRevokedWebKeys, toRevokedRow } from './revoked-web-key-row.ts'
import { readRotation, writeRotation } from './rotation-row.ts'
import { usingStorageRepeatedly } from './storage-errors.ts'
import type { Tables } from './tables.ts'
import { readKeyRing, toLifeColumns, toNewRow } from './web-key-row.ts'

interface Keys {
  readonly ring: KeyRing
  readonly rotation: Rotation
}

type Decide<T> = (ring: KeyRing, now: Date, rotation: Rotation) => KeyChange<T>

/** The web keys of a migrated database. */
export function createKeyStore(database: Database): KeyStore {
  return {
    update: async <T>(entry: AuditEntry, decide: Decide<T>): Promise<T> => {
      const { result } = await changeInstance(database, entry, targetOf(decide))
      return result
    },

    publish: async () => {
      const target = targetOf((ring, now) => planPublication(ring, { now }))
      const { result } = await changeInstance(database, null, target)
      return result
    },

    findRevoked: (keyId) =>
      usingStorageRepeatedly(() => database.db.transaction().execute((trx) => readRevokedWebKey(trx, keyId))),

    listRevoked: () => usingStorageRepeatedly(() => database.db.transaction().execute(readRevokedWebKeys)),
  }
}

function targetOf<T>(decide: Decide<T>): ChangeTarget<Keys, KeyChange<T>> {
  return {
    read: async (trx) => ({ ring: await readKeyRing(trx), rotation: await readRotation(trx) }),
    datesOf: ({ ring, rotation: { requestedAt } }) => [
      ...ring.flatMap(datesOf),
      ...(requestedAt === null ? [] : [requestedAt]),
    ],
    resourceOf: ({ resource }) => resource,
    decide: ({ ring, rotation }, now) => decide(ring, now, rotation),
    write: applyAll,
  }
}

async function applyAll<T>(
  trx: Transaction<Tables>,
  before: Keys,
  { steps, rotation = before.rotation }: KeyChange<T>,
): Promise<boolean> {
  for (const step of steps) await apply(trx, step)
  if (rotation !== before.rotation) await writeRotation(trx, rotation)
  return steps.length > 0 || rotation !== before.rotation
}

async function apply(trx: Transaction<Tables>, step: KeyRingStep): Promise<void> {
  const rows = await changedRows(trx, step)
  if (rows !== 1n) throw new Error(`a step of kind ${step.kind} changed ${rows} web keys instead of one`)
}

async function changedRows(trx: Transaction<Tables>, step: KeyRingStep): Promise<bigint | undefined> {
  switch (step.kind) {
    case 'add': {
      const row = toNewRow(step.key, step.sealedPrivateKey)
      return (await trx.insertInto('web_keys').values(row).executeTakeFirst()).numInsertedOrUpdatedRows
    }
    case 'move': {
      const move = trx.updateTable('web_keys').set(toLifeColumns(step.key)).where('key_id', '=', step.key.keyId)
      return (await move.executeTakeFirst()).numUpdatedRows
    }
    case 'destroy': {
      const row = trx.updateTable('web_keys').set({ sealed_private_key: null }).where('key_id', '=', step.keyId)
      return (await row.executeTakeFirst()).numUpdatedRows
    }
    case 'remove':
      return await remove(trx, step.keyId)
    case 'revoke':
      await trx.insertInto('revoked_web_keys').values(toRevokedRow(step.key)).execute()
      return await remove(trx, step.key.keyId)
  }
}

async function remove(trx: Transaction<Tables>, keyId: string): Promise<bigint> {
  return (await trx.deleteFrom('web_keys').where('key_id', '=', keyId).executeTakeFirst()).numDeletedRows
}
