/** The position of an audit event, as an opaque text. */
import type { AuditPosition } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'

/** A place in the order of the trail (decision 37). */
export interface Place {
  readonly epoch: number
  readonly transactionId: bigint
  readonly sequence: bigint
}

/** Before every event. */
export const ORDER_START: Place = { epoch: 0, transactionId: 0n, sequence: 0n }

/** The greatest numbers of the columns. */
const MAX_EPOCH = 2 ** 31 - 1
const MAX_TRANSACTION_ID = 2n ** 64n - 1n
const MAX_SEQUENCE = 2n ** 63n - 1n

const ORDERED = /^(\d{1,10})\.(\d{1,20})\.(\d{1,19})$/

/** The opaque text. Equal places have equal texts. */
export function writePosition({ epoch, transactionId, sequence }: Place): AuditPosition {
  return Buffer.from(`${epoch}.${transactionId}.${sequence}`).toString('base64url')
}

/** @throws {DomainError} `audit_position_invalid` if this is not what `writePosition` returns. */
export function parsePosition(position: AuditPosition): Place {
  const place = parse(Buffer.from(position, 'base64url').toString())
  if (place === undefined || writePosition(place) !== position) {
    throw new DomainError('audit_position_invalid', 'the position is not one that Keyturn has returned')
  }
  return place
}

function parse(text: string): Place | undefined {
  const [, epoch, transactionId, sequence] = ORDERED.exec(text) ?? []
  if (epoch === undefined || transactionId === undefined || sequence === undefined) return undefined
  const place = { epoch: Number(epoch), transactionId: BigInt(transactionId), sequence: BigInt(sequence) }
  const isStorable =
    place.epoch <= MAX_EPOCH && place.transactionId <= MAX_TRANSACTION_ID && place.sequence <= MAX_SEQUENCE
  return isStorable ? place : undefined
}

export function isBefore(a: Place, b: Place): boolean {
  if (a.epoch !== b.epoch) return a.epoch < b.epoch
  return a.transactionId === b.transactionId ? a.sequence < b.sequence : a.transactionId < b.transactionId
}
