/**
 * The `KeyStore` on a database: reads the key ring and its rotation, and writes what the domain decides.
 *
 * How a change is locked, audited and announced is in `instance-change.ts`.
 */
import type { Transaction } from 'kysely'
import type { ChangeEntry } from '../../domain/identities/authority.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { type KeyRing, type KeyRingStep, planPublication } from '../../domain/keys/key-ring.ts'
import type { Rotation } from '../../domain/keys/rotation.ts'
import { datesOf } from '../../domain/keys/web-key.ts'
import type { KeyChange, KeyStore } from '../../domain/ports.ts'
import { type ChangeTarget, changeInstance, observeInstance } from '../instance/instance-change.ts'
import type { Database } from '../postgres/database.ts'
import { usingStorageWithRetries } from '../postgres/storage-errors.ts'
import type { Tables } from '../schema/tables.ts'
import { readRevokedWebKey, readRevokedWebKeys, toRevokedRow } from './revoked-web-key-row.ts'
import { readRotation, writeRotation } from './rotation-row.ts'
import { readKeyRing, toLifeColumns, toNewRow } from './web-key-row.ts'

interface Keys {
  readonly ring: KeyRing
  readonly rotation: Rotation
}

type Decide<T> = (ring: KeyRing, now: Date, rotation: Rotation) => KeyChange<T>

/** The web keys of a migrated database. */
export function createKeyStore(database: Database, macs: PublicKeyMacs): KeyStore {
  return {
    update: async <T>(entry: ChangeEntry, decide: Decide<T>): Promise<T> => {
      const { result } = await changeInstance(database, entry, targetOf(macs, decide))
      return result
    },

    publish: async () => {
      const target = targetOf(macs, (ring, now) => planPublication(ring, { now }))
      const { result } = await observeInstance(database, target)
      return result
    },

    findRevoked: (keyId) =>
      usingStorageWithRetries(() => database.db.transaction().execute((trx) => readRevokedWebKey(trx, keyId, macs))),

    listRevoked: () =>
      usingStorageWithRetries(() => database.db.transaction().execute((trx) => readRevokedWebKeys(trx, macs))),
  }
}

function targetOf<T>(macs: PublicKeyMacs, decide: Decide<T>): ChangeTarget<Keys, KeyChange<T>> {
  return {
    read: async (trx) => ({ ring: await readKeyRing(trx, macs), rotation: await readRotation(trx) }),
    datesOf: ({ ring, rotation: { requestedAt } }) => [
      ...ring.flatMap(datesOf),
      ...(requestedAt === null ? [] : [requestedAt]),
    ],
    resourceOf: ({ resource }) => resource,
    decide: ({ ring, rotation }, { date }) => decide(ring, date, rotation),
    write: (trx, before, change) => applyAll({ trx, macs }, before, change),
  }
}

interface Writing {
  readonly trx: Transaction<Tables>
  readonly macs: PublicKeyMacs
}

async function applyAll<T>(
  writing: Writing,
  before: Keys,
  { steps, rotation = before.rotation }: KeyChange<T>,
): Promise<boolean> {
  for (const step of steps) await apply(writing, step)
  if (rotation !== before.rotation) await writeRotation(writing.trx, rotation)
  return steps.length > 0 || rotation !== before.rotation
}

async function apply(writing: Writing, step: KeyRingStep): Promise<void> {
  const rows = await changedRows(writing, step)
  if (rows !== 1n) throw new Error(`a step of kind ${step.kind} changed ${rows} web keys instead of one`)
}

async function changedRows({ trx, macs }: Writing, step: KeyRingStep): Promise<bigint | undefined> {
  switch (step.kind) {
    case 'add': {
      const row = toNewRow(step.key, step.sealedPrivateKey, macs)
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
      await trx.insertInto('revoked_web_keys').values(toRevokedRow(step.key, macs)).execute()
      return await remove(trx, step.key.keyId)
  }
}

async function remove(trx: Transaction<Tables>, keyId: string): Promise<bigint> {
  return (await trx.deleteFrom('web_keys').where('key_id', '=', keyId).executeTakeFirst()).numDeletedRows
}
