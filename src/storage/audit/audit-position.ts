/** The position of an audit event, as an opaque text. */
import { sql } from 'kysely'
import type { AuditPosition } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'

/** A place in the order of the trail (decision 37), as its columns are read. */
export interface Place {
  readonly epoch: number
  readonly transaction_id: string
  readonly sequence: string
}

export const PLACE_COLUMNS = ['epoch', 'transaction_id', 'sequence'] as const
export const IN_ORDER = sql`epoch, transaction_id, sequence`

/** Before every event. */
export const ORDER_START: Place = { epoch: 0, transaction_id: '0', sequence: '0' }

/** With no more digits than the columns hold. */
const POSITION = /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,18})\.(?:0|[1-9]\d{0,17})$/

/** The opaque text. Equal places have equal texts. */
export function writePosition({ epoch, transaction_id, sequence }: Place): AuditPosition {
  return Buffer.from(`${epoch}.${transaction_id}.${sequence}`).toString('base64url')
}

/** @throws {DomainError} `audit_position_invalid` if this is not what `writePosition` returns. */
export function parsePosition(position: AuditPosition): Place {
  const text = Buffer.from(position, 'base64url').toString()
  const [epoch = '', transaction_id = '', sequence = ''] = text.split('.')
  const place = { epoch: Number(epoch), transaction_id, sequence }
  if (POSITION.test(text) && writePosition(place) === position) return place
  throw new DomainError('audit_position_invalid', 'the position is not one that Keyturn has returned')
}

export function isBefore(a: Place, b: Place): boolean {
  if (a.epoch !== b.epoch) return a.epoch < b.epoch
  const [transaction, other] = [BigInt(a.transaction_id), BigInt(b.transaction_id)]
  return transaction === other ? BigInt(a.sequence) < BigInt(b.sequence) : transaction < other
}
