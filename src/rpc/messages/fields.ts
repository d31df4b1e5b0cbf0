/** Single fields of messages: texts, field masks, timestamps and durations, checked where the rules of the proto cannot say it. */
import { create } from '@bufbuild/protobuf'
import {
  type Duration,
  DurationSchema,
  type FieldMask,
  type Timestamp,
  timestampDate,
  timestampFromDate,
} from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import { invalidField } from './violations.ts'

// The range of google.protobuf.Timestamp. The decoder checks it in JSON but not in protobuf.
const EARLIEST = BigInt(Date.parse('0001-01-01T00:00:00Z') / 1000)
const LATEST = BigInt(Date.parse('9998-12-31T23:59:59Z') / 1000)

/**
 * The changes that the field mask of an update names (AIP-134, AIP-161).
 *
 * @param fields By path, what the request has there.
 * @throws {ConnectError} `invalid_argument` if the mask is missing, is empty or names anything else.
 */
export function maskedBy<Changes extends object>(
  mask: FieldMask | undefined,
  fields: Readonly<Record<string, () => Changes>>,
): Changes {
  const paths = mask?.paths ?? []
  if (paths.length === 0 || paths.some((path) => !Object.hasOwn(fields, path))) {
    throw invalidField('update_mask', `must name what to change: ${Object.keys(fields).join(', ')}`)
  }
  return Object.assign({}, ...paths.map((path) => fields[path]?.()))
}

/** A text or message that an update must have if its mask names it. @throws {ConnectError} `invalid_argument`. */
export function required<Value>(value: Value | undefined, field: string): Value {
  if (value === undefined || value === '') throw invalidField(field, 'is required when update_mask has it')
  return value
}

/** The name of what a message has, in a table of all names. The rules of the proto must have been checked. */
export function nameOf<Name extends string, Value>(values: Readonly<Record<Name, Value>>, value: unknown): Name {
  const found = (Object.keys(values) as Name[]).find((name) => values[name] === value)
  if (found === undefined) throw new Error('the rules of the proto have not been checked')
  return found
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

/**
 * Sends warnings about a call that succeeded, as a header in every protocol; in gRPC it is in the metadata before the message.
 *
 * @param warnings Printable ASCII without semicolons. None: there is no header.
 */
export function sendWarnings(
  { responseHeader }: Pick<HandlerContext, 'responseHeader'>,
  warnings: readonly string[],
): void {
  if (warnings.length > 0) responseHeader.set('keyturn-warning', warnings.join('; '))
}
