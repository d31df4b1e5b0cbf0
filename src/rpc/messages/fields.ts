/**
 * Single fields of messages: texts, field masks, timestamps and durations, checked where the rules of the proto cannot say it.
 */
import { create, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import {
  type Duration,
  DurationSchema,
  type FieldMask,
  type Timestamp,
  timestampDate,
  timestampFromDate,
} from '@bufbuild/protobuf/wkt'
import type { Interceptor } from '@connectrpc/connect'
import { isUuid } from '../../domain/uuid.ts'
import { mapStream } from './streams.ts'
import { invalidField } from './violations.ts'

// The range of google.protobuf.Timestamp. The decoder checks it in JSON but not in protobuf.
const EARLIEST = BigInt(Date.parse('0001-01-01T00:00:00Z') / 1000)
const LATEST = BigInt(Date.parse('9998-12-31T23:59:59Z') / 1000)

/**
 * Writes UUIDs in lower case (RFC 9562 §4), and refuses NUL, which PostgreSQL cannot store.
 *
 * Ids of other kinds are unchanged: they are only compared.
 */
export function normalizeTexts(): Interceptor {
  return (next) => (req) => {
    // The message was decoded for this call, so it may be changed in place.
    const normalized = <Message>(message: Message): Message => {
      normalize(req.method.input, message as unknown as Record<string, unknown>)
      return message
    }
    if (req.stream) return next({ ...req, message: mapStream(req.message, normalized) })
    normalized(req.message)
    return next(req)
  }
}

function normalize(type: DescMessage, message: Record<string, unknown>): void {
  for (const field of type.fields) {
    if (field.fieldKind !== 'scalar' || field.scalar !== ScalarType.STRING) continue
    const text = message[field.localName]
    if (typeof text !== 'string') continue
    if (field.name.endsWith('_id')) {
      const lower = text.toLowerCase()
      if (isUuid(lower)) message[field.localName] = lower
    } else if (text.includes('\0')) {
      throw invalidField(field.name, 'must not have a NUL character')
    }
  }
}

/**
 * The paths of the field mask of an update (AIP-134, AIP-161).
 *
 * @param known The fields that can be changed.
 * @throws {ConnectError} `invalid_argument` if the mask is missing, is empty or names anything else.
 */
export function pathsOf<Path extends string>(mask: FieldMask | undefined, known: readonly Path[]): ReadonlySet<Path> {
  const paths = new Set((mask?.paths ?? []) as Path[])
  if (paths.size === 0 || [...paths].some((path) => !known.includes(path))) {
    throw invalidField('update_mask', `must name what to change: ${known.join(', ')}`)
  }
  return paths
}

/** The date of a field, to the millisecond; null if it is not set. @throws {ConnectError} `invalid_argument`. */
export function toDate(timestamp: Timestamp | undefined, field: string): Date | null {
  if (timestamp === undefined) return null
  const { seconds, nanos } = timestamp
  if (seconds < EARLIEST || seconds > LATEST || nanos < 0 || nanos >= 1e9) {
    throw invalidField(field, 'must be a time from the year 1 to 9998')
  }
  return timestampDate(timestamp)
}

/** A field with the date, or none: for a spread into a message. */
export function fromDate<Field extends string>(field: Field, date: Date | null): { [Key in Field]?: Timestamp } {
  const fields: { [Key in Field]?: Timestamp } = {}
  if (date !== null) fields[field] = timestampFromDate(date)
  return fields
}

/** A duration of whole seconds. */
export function fromSeconds(seconds: number): Duration {
  return create(DurationSchema, { seconds: BigInt(seconds) })
}

/** The seconds of a field. @throws {ConnectError} `invalid_argument` unless they are whole. */
export function toSeconds({ seconds, nanos }: Duration, field: string): number {
  if (nanos !== 0) throw invalidField(field, 'must be in whole seconds')
  return Number(seconds)
}
