/**
 * The `KeyStore` on a database: reads the key ring and its rotation, and writes what the domain decides.
 *
 * How a change is locked, audited and announced is in `instance-change.ts`.
 */
import type { Transaction } from 'kysely'
import { NO_USER } from '../../domain/changes.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { type KeyRing, type KeyRingStep, planPublication } from '../../domain/keys/key-ring.ts'
import type { Rotation } from '../../domain/keys/rotation.ts'
import type { KeyChange, KeyStore } from '../../domain/ports/keys.ts'
import { type Change, changeForResult, type Decided } from '../change/instance-change.ts'
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

/** The web keys of a migrated database. */
export function createKeyStore(database: Database, macs: PublicKeyMacs): KeyStore {
  return {
    update: (entry, decide) => changeForResult(database, entry, changeOf(macs, decide)),

    publish: () =>
      changeForResult(
        database,
        null,
        changeOf(macs, (ring, now) => planPublication(ring, { now })),
      ),

    findRevoked: (keyId) =>
      usingStorageWithRetries(() => database.db.transaction().execute((trx) => readRevokedWebKey(trx, keyId, macs))),

    listRevoked: () =>
      usingStorageWithRetries(() => database.db.transaction().execute((trx) => readRevokedWebKeys(trx, macs))),
  }
}

function changeOf<T>(
  macs: PublicKeyMacs,
  decide: (ring: KeyRing, now: Date, rotation: Rotation) => KeyChange<T>,
): Change<Keys, Decided & KeyChange<T>> {
  return {
    read: async (trx) => ({ ring: await readKeyRing(trx, macs), rotation: await readRotation(trx) }),
    decide: ({ ring, rotation }, { date }) => {
      const change = decide(ring, date, rotation)
      const { resource } = change
      return { ...change, events: [resource === undefined ? {} : { resource }], changedUsers: NO_USER }
    },
    write: async (trx, before, { steps, rotation = before.rotation }) => {
      for (const step of steps) await write({ trx, macs }, step)
      if (rotation !== before.rotation) await writeRotation(trx, rotation)
      return steps.length > 0 || rotation !== before.rotation
    },
  }
}

interface Writing {
  readonly trx: Transaction<Tables>
  readonly macs: PublicKeyMacs
}

async function write(writing: Writing, step: KeyRingStep): Promise<void> {
  const rows = await changedRows(writing, step)
  if (rows !== 1n) throw new Error(`a step of kind ${step.kind} changed ${rows} web keys instead of one`)
}

async function changedRows({ trx, macs }: Writing, step: KeyRingStep): Promise<bigint | undefined> {
  switch (step.kind) {
    case 'add': {
      const row = toNewRow(step.key, step.sealedPrivateKey, macs)
      return (await trx.insertInto('web_keys').values(row).executeTakeFirst()).numInsertedOrUpdatedRows
    }
    case 'transition': {
      const row = trx.updateTable('web_keys').set(toLifeColumns(step.key)).where('key_id', '=', step.key.keyId)
      return (await row.executeTakeFirst()).numUpdatedRows
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
