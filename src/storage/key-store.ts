/**
 * The `KeyStore` on a database: shows the ring to the domain and writes the steps that it decides.
 *
 * How a change is locked, audited and announced is in `instance-change.ts`.
 */
import type { Transaction } from 'kysely'
import type { AuditEntry } from '../domain/audit.ts'
import type { KeyRing, KeyRingChange, KeyRingStep } from '../domain/key-ring.ts'
import type { KeyStore } from '../domain/ports.ts'
import type { Database } from './database.ts'
import { changeInstance } from './instance-change.ts'
import type { Tables } from './tables.ts'
import { readKeyRing, toLifeColumns, toNewRow } from './web-key-row.ts'

type Decide<T> = (ring: KeyRing, now: Date) => KeyRingChange<T>

/** The web keys of a migrated database. */
export function createKeyStore(database: Database): KeyStore {
  return {
    update: async <T>(entry: AuditEntry, decide: Decide<T>): Promise<T> => {
      const { result } = await changeInstance<KeyRing, KeyRingChange<T>>(database, entry, {
        read: readKeyRing,
        datesOf,
        decide,
        write: applyAll,
      })
      return result
    },
  }
}

async function applyAll<T>(trx: Transaction<Tables>, _: KeyRing, { steps }: KeyRingChange<T>): Promise<boolean> {
  for (const step of steps) await apply(trx, step)
  return steps.length > 0
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
    case 'remove': {
      const removal = trx.deleteFrom('web_keys').where('key_id', '=', step.keyId)
      return (await removal.executeTakeFirst()).numDeletedRows
    }
  }
}

function datesOf(ring: KeyRing): Date[] {
  return ring.flatMap((key) => {
    const { activation_date: activated, deactivation_date: deactivated } = toLifeColumns(key)
    return [key.createdAt, activated, deactivated].filter((date) => date !== null)
  })
}
