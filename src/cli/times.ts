/**
 * Times on the command line: a distance from now, such as `90d`, `12h` and `30m`, or a time as in RFC 3339.
 */
import { type Duration, type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { InvalidArgumentError } from 'commander'
import { option, type TypedOption } from './options.ts'

const SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 }

const RFC_3339 = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** The option `--expires` of commands that make a credential. */
export function expiresOption(): TypedOption<Timestamp | undefined> {
  return option<Timestamp | undefined>(
    '--expires <when>',
    'when it stops working: in 90d, 12h or 30m, or at a time such as 2027-01-31T00:00:00Z',
  ).argParser((text) => parseMoment(text, 1))
}

/** The field of a request that `expiresOption` sets. */
export function expirationFrom({ expires }: { readonly expires: Timestamp | undefined }): {
  expirationDate?: Timestamp
} {
  return expires === undefined ? {} : { expirationDate: expires }
}

/** An option that takes a time in the past, in which `24h` means 24 hours ago. */
export function sinceOption(name: string, description: string): TypedOption<Timestamp | undefined> {
  return option<Timestamp | undefined>(`${name} <when>`, description).argParser((text) => parseMoment(text, -1))
}

/** An option that takes a length of time; its value is in seconds. */
export function durationOption(name: string, description: string): TypedOption<bigint | undefined> {
  return option<bigint | undefined>(`${name} <time>`, `${description}: for example 90d, 12h, 30m or 10s`).argParser(
    parseDuration,
  )
}

/** The seconds of a length of time, which may be zero. @throws {InvalidArgumentError} */
export function parseDuration(text: string): bigint {
  const [, count, unit = ''] = /^(\d{1,9})([dhms])$/.exec(text) ?? []
  if (count !== undefined) return BigInt(count) * BigInt(SECONDS[unit] ?? 0)
  throw new InvalidArgumentError('Write a length of time such as 90d, 12h, 30m or 10s.')
}

function parseMoment(text: string, direction: 1 | -1): Timestamp {
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

/** A length of time in the largest unit that it is a multiple of, as `durationOption` reads it. */
export function formatDuration(duration: Pick<Duration, 'seconds'> | undefined): string {
  const seconds = Number(duration?.seconds ?? 0n)
  const [unit, size] = Object.entries(SECONDS).find(([, each]) => seconds > 0 && seconds % each === 0) ?? ['s', 1]
  return `${seconds / size}${unit}`
}

/** A moment to the second, in UTC, for example `2026-11-21T08:30:00Z`; a dash without one. */
export function formatMoment(moment: Timestamp | undefined): string {
  if (moment === undefined) return '-'
  return timestampDate(moment)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
}

/** How long ago a moment is. Empty without one. */
export function ageOf(moment: Timestamp | undefined): string {
  return moment === undefined ? '' : formatAge(Date.now() - timestampDate(moment).getTime())
}

/** The time until an end: `never` without one, `-` after it. */
export function timeLeft(end: Timestamp | undefined): string {
  if (end === undefined) return 'never'
  return isPast(end) ? '-' : formatAge(timestampDate(end).getTime() - Date.now())
}

export function isPast(moment: Timestamp): boolean {
  return timestampDate(moment).getTime() <= Date.now()
}

/** A length of time in its two largest units, for example `3d 4h`. */
function formatAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const units = Object.entries(SECONDS).filter(([, size]) => seconds >= size)
  const [[unit, size] = ['s', 1], [smaller, smallerSize] = ['', Infinity]] = units
  const rest = Math.floor((seconds % size) / smallerSize)
  return `${Math.floor(seconds / size)}${unit}${rest === 0 ? '' : ` ${rest}${smaller}`}`
}
