/** The rotation policy as the one row of `rotation`, in both directions. */
import type { Transaction } from 'kysely'
import { algorithmOf, RSA_BITS } from '../../domain/keys/key-algorithm.ts'
import type { Rotation } from '../../domain/keys/rotation.ts'
import type { RotationPolicy } from '../../domain/keys/rotation-policy.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'

/** @throws {UnreadableRow} if it wants keys of no known kind. */
export async function readRotation(trx: Transaction<Tables>): Promise<Rotation> {
  const row = await trx.selectFrom('rotation').selectAll().where('id', '=', 1).executeTakeFirstOrThrow()
  return readRow('rotation', '', 'the rotation policy', () => {
    const policy = row.policy as RotationPolicy
    const { config } = policy
    algorithmOf(config)
    if (config.kind === 'rsa' && !RSA_BITS.includes(config.bits)) throw new Error(`no RSA keys of ${config.bits} bits`)
    return { policy, requestedAt: row.request_date }
  })
}

export async function writeRotation(trx: Transaction<Tables>, { policy, requestedAt }: Rotation): Promise<void> {
  const row = { policy: JSON.stringify(policy), request_date: requestedAt }
  await trx.updateTable('rotation').set(row).where('id', '=', 1).execute()
}
