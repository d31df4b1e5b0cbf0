/**
 * Times on the command line: a distance from now, such as `90d`, `12h` and `30m`, or a time as in RFC 3339.
 */
import { type Duration, type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { InvalidArgumentError } from 'commander'

const SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 }

const RFC_3339 = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** The seconds of a length of time, which may be zero. @throws {InvalidArgumentError} */
export function parseDuration(text: string): bigint {
  const [, count, unit = ''] = /^(\d{1,9})([dhms])$/.exec(text) ?? []
  if (count !== undefined) return BigInt(count) * BigInt(SECONDS[unit] ?? 0)
  throw new InvalidArgumentError('Write a length of time such as 90d, 12h, 30m or 10s.')
}

/** @param direction Whether a distance is one into the future or into the past. @throws {InvalidArgumentError} */
export function parseMoment(text: string, direction: 1 | -1): Timestamp {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([dhm])$/.exec(text) ?? []
  const distance = Number(count) * (SECONDS[unit] ?? 0) * 1000
  if (count !== undefined) return timestampFromDate(new Date(Date.now() + direction * distance))
  const [, day] = RFC_3339.exec(text) ?? []
  if (day !== undefined && isDay(day)) return timestampFromDate(new Date(text))
  throw new InvalidArgumentError('Write a distance such as 90d, 12h or 30m, or a time such as 2027-01-31T00:00:00Z.')
}

/** `Date` takes 31 February for a day in March. */
function isDay(day: string): boolean {
  const date = new Date(day)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

/** A length of time in the largest unit that it is a multiple of, as `parseDuration` reads it. */
export function formatDuration({ seconds }: Pick<Duration, 'seconds'>): string {
  const [unit, size] = Object.entries(SECONDS).find(([, each]) => seconds > 0 && Number(seconds) % each === 0) ?? [
    's',
    1,
  ]
  return `${Number(seconds) / size}${unit}`
}

/** A moment to the second, in UTC, for example `2026-11-21T08:30:00Z`; a dash without one. */
export function formatMoment(moment: Timestamp | undefined): string {
  return moment === undefined
    ? '-'
    : timestampDate(moment)
        .toISOString()
        .replace(/\.\d+Z$/, 'Z')
}

export function isPast(moment: Timestamp): boolean {
  return timestampDate(moment).getTime() <= Date.now()
}
