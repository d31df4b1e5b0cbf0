/**
 * The `KeyStore` on a database: takes the lock, lets the domain decide, stores the decision.
 *
 * It has no rule about web keys of its own. What must hold whoever writes is a constraint of the schema.
 */
import type { Transaction } from 'kysely'
import type { KeyRing, KeyRingChange, KeyRingStep } from '../domain/key-ring.ts'
import type { KeyStore } from '../domain/ports.ts'
import type { Database } from './database.ts'
import { bumpVersion, lockInstance, readClock } from './instance-row.ts'
import { usingStorageRepeatedly } from './storage-errors.ts'
import type { Tables } from './tables.ts'
import { readKeyRing, toLifeColumns, toNewRow } from './web-key-row.ts'

type Decide<T> = (ring: KeyRing, now: Date) => KeyRingChange<T>

/** Either what `decide` returned or what it threw. A value, so that no error of it is taken for one of the database. */
type Outcome<T> =
  | { readonly kind: 'decided'; readonly result: T }
  | { readonly kind: 'refused'; readonly error: unknown }

/** The web keys of a migrated database. */
export function createKeyStore({ db }: Database): KeyStore {
  return {
    update: async <T>(decide: Decide<T>): Promise<T> => {
      const outcome = await usingStorageRepeatedly(() =>
        db
          .transaction()
          .setIsolationLevel('read committed')
          .execute((trx) => updateUnderLock(trx, decide)),
      )
      if (outcome.kind === 'refused') throw outcome.error
      return outcome.result
    },
  }
}

async function updateUnderLock<T>(trx: Transaction<Tables>, decide: Decide<T>): Promise<Outcome<T>> {
  await lockInstance(trx)
  const clock = await readClock(trx)
  const ring = await readKeyRing(trx)

  let change: KeyRingChange<T>
  try {
    change = decide(ring, notBefore(newestDate(ring), clock))
  } catch (error) {
    // Nothing has been written, so there is nothing to roll back.
    return { kind: 'refused', error }
  }

  for (const step of change.steps) await apply(trx, step)
  if (change.steps.length > 0) await bumpVersion(trx)
  return { kind: 'decided', result: change.result }
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

/** The clock of a database can go back, after a fail-over for example; the life of a key must not. */
function notBefore(earliest: number, clock: Date): Date {
  return new Date(Math.max(earliest, clock.getTime()))
}

function newestDate(ring: KeyRing): number {
  return ring.reduce((newest, key) => {
    const { activation_date: activated, deactivation_date: deactivated } = toLifeColumns(key)
    return Math.max(newest, key.createdAt.getTime(), activated?.getTime() ?? newest, deactivated?.getTime() ?? newest)
  }, Number.NEGATIVE_INFINITY)
}
