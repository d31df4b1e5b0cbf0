/**
 * The rotation policy as the one row of `rotation`, in both directions. A row that is no valid policy is refused, never repaired.
 */
import type { Selectable, Transaction } from 'kysely'
import { UnreadableRow } from '../../domain/errors.ts'
import type { EcCurve, Hash, RsaBits, WebKeyConfig } from '../../domain/keys/key-algorithm.ts'
import type { Rotation } from '../../domain/keys/rotation.ts'
import type { Tables } from '../schema/tables.ts'

type RotationRow = Selectable<Tables['rotation']>

const BITS: readonly number[] = [2048, 3072, 4096] satisfies RsaBits[]
const HASHERS: readonly string[] = ['sha256', 'sha384', 'sha512'] satisfies Hash[]
const CURVES: readonly string[] = ['P-256', 'P-384', 'P-521'] satisfies EcCurve[]

/** @throws {UnreadableRow} if the row is not valid; the message says what is wrong. */
export async function readRotation(trx: Transaction<Tables>): Promise<Rotation> {
  const row = await trx.selectFrom('rotation').selectAll().where('id', '=', 1).executeTakeFirstOrThrow()
  return {
    policy: {
      enabled: row.enabled,
      config: toConfig(row),
      rotationIntervalSeconds: row.rotation_interval,
      publishAheadSeconds: row.publish_ahead,
      retentionSeconds: row.retention,
      rollbackWindowSeconds: row.rollback_window,
      keepStandby: row.keep_standby,
    },
    requestedAt: row.request_date,
  }
}

export async function writeRotation(trx: Transaction<Tables>, { policy, requestedAt }: Rotation): Promise<void> {
  const { config } = policy
  await trx
    .updateTable('rotation')
    .set({
      enabled: policy.enabled,
      kind: config.kind,
      bits: config.kind === 'rsa' ? config.bits : null,
      hasher: config.kind === 'rsa' ? config.hasher : null,
      curve: config.kind === 'ecdsa' ? config.curve : null,
      rotation_interval: policy.rotationIntervalSeconds,
      publish_ahead: policy.publishAheadSeconds,
      retention: policy.retentionSeconds,
      rollback_window: policy.rollbackWindowSeconds,
      keep_standby: policy.keepStandby,
      request_date: requestedAt,
    })
    .where('id', '=', 1)
    .execute()
}

function toConfig({ kind, bits, hasher, curve }: RotationRow): WebKeyConfig {
  if (kind === 'rsa' && isBits(bits) && isHash(hasher)) return { kind, bits, hasher }
  if (kind === 'ecdsa' && isCurve(curve)) return { kind, curve }
  if (kind === 'ed25519') return { kind }
  const message = `the rotation policy in the database has no valid kind of key: ${JSON.stringify(kind)}`
  throw new UnreadableRow({ kind: 'rotation', id: '' }, message)
}

function isBits(value: number | null): value is RsaBits {
  return value !== null && BITS.includes(value)
}

function isHash(value: string | null): value is Hash {
  return value !== null && HASHERS.includes(value)
}

function isCurve(value: string | null): value is EcCurve {
  return value !== null && CURVES.includes(value)
}
