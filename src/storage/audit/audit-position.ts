/**
 * The position of an audit event, as an opaque text.
 */
import type { AuditPosition } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { isUuid } from '../../domain/uuid.ts'

/** A place in the order of the trail. `dated`: of an event from before there was an order (decision 37). */
export type Place =
  | { readonly kind: 'dated'; readonly at: Date; readonly eventId: string }
  | { readonly kind: 'ordered'; readonly epoch: number; readonly transactionId: bigint; readonly sequence: bigint }

/** Of an event with an order. */
export type OrderedPlace = Extract<Place, { kind: 'ordered' }>

/** Before every event that has an order. */
export const ORDER_START: OrderedPlace = { kind: 'ordered', epoch: 0, transactionId: 0n, sequence: 0n }

/** The greatest numbers of the columns. */
const MAX_EPOCH = 2 ** 31 - 1
const MAX_TRANSACTION_ID = 2n ** 64n - 1n
const MAX_SEQUENCE = 2n ** 63n - 1n

const ORDERED = /^(\d{1,10})\.(\d{1,20})\.(\d{1,19})$/
const DATED = /^(\d{1,15}) (\S+)$/

/** The opaque text. Equal places have equal texts. */
export function writePosition(place: Place): AuditPosition {
  const text =
    place.kind === 'dated'
      ? `${place.at.getTime()} ${place.eventId}`
      : `${place.epoch}.${place.transactionId}.${place.sequence}`
  return Buffer.from(text).toString('base64url')
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
  if (epoch !== undefined && transactionId !== undefined && sequence !== undefined) {
    const place = { epoch: Number(epoch), transactionId: BigInt(transactionId), sequence: BigInt(sequence) }
    const isStorable =
      place.epoch <= MAX_EPOCH && place.transactionId <= MAX_TRANSACTION_ID && place.sequence <= MAX_SEQUENCE
    return isStorable ? { kind: 'ordered', ...place } : undefined
  }
  const [, millis, eventId = ''] = DATED.exec(text) ?? []
  const at = new Date(Number(millis))
  return Number.isNaN(at.getTime()) || !isUuid(eventId) ? undefined : { kind: 'dated', at, eventId }
}
