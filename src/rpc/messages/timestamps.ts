/**
 * Between protobuf timestamps and dates.
 */
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { invalidField } from './violations.ts'

// The range of google.protobuf.Timestamp. JSON is held to it when it is decoded, protobuf is not.
const EARLIEST = BigInt(Date.parse('0001-01-01T00:00:00Z') / 1000)
const LATEST = BigInt(Date.parse('9998-12-31T23:59:59Z') / 1000)

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
