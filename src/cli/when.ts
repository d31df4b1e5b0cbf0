/**
 * Times on the command line: a distance from now, such as `90d`, `12h` and `30m`, or a time as in RFC 3339.
 */
import { type Duration, type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { InvalidArgumentError, Option } from 'commander'

const DISTANCE = /^([1-9]\d{0,5})([dhm])$/
const MILLISECONDS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 }

/** A duration may be zero, and may be in seconds. */
const DURATION = /^(\d{1,9})([dhms])$/
const SECONDS: Readonly<Record<string, bigint>> = { d: 86_400n, h: 3600n, m: 60n, s: 1n }
const RFC_3339 = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** The option `--expires` of commands that make a credential. */
export function expiresOption(): Option {
  return new Option(
    '--expires <when>',
    'when it stops working: in 90d, 12h or 30m, or at a time such as 2027-01-31T00:00:00Z',
  ).argParser((text) => parseMoment(text, 1))
}

/** An option that takes a time in the past, in which `24h` means 24 hours ago. */
export function sinceOption(flag: string, description: string): Option {
  return new Option(`${flag} <when>`, description).argParser((text) => parseMoment(text, -1))
}

/** An option that takes a length of time; its value is in seconds. */
export function durationOption(flag: string, description: string): Option {
  return new Option(`${flag} <time>`, `${description}: for example 90d, 12h, 30m or 10s`).argParser(parseDuration)
}

/** The seconds of a length of time. @throws {InvalidArgumentError} */
export function parseDuration(text: string): bigint {
  const [, count = '', unit = ''] = DURATION.exec(text) ?? []
  const seconds = SECONDS[unit]
  if (seconds === undefined) throw new InvalidArgumentError('Write a length of time such as 90d, 12h, 30m or 10s.')
  return BigInt(count) * seconds
}

/** A length of time in the largest unit that it is a multiple of, as `durationOption` reads it. */
export function formatDuration(duration: Duration | undefined): string {
  return formatSeconds(duration?.seconds ?? 0n)
}

/** A number of seconds, like `formatDuration`. */
export function formatSeconds(seconds: bigint): string {
  const [unit, size] = Object.entries(SECONDS).find(([, unitSize]) => seconds % unitSize === 0n && seconds > 0n) ?? [
    's',
    1n,
  ]
  return `${seconds / size}${unit}`
}

function parseMoment(text: string, direction: 1 | -1): Timestamp {
  const [, count, unit = ''] = DISTANCE.exec(text) ?? []
  const distance = MILLISECONDS[unit]
  if (distance !== undefined) return timestampFromDate(new Date(Date.now() + direction * Number(count) * distance))
  const [, day] = RFC_3339.exec(text) ?? []
  if (day !== undefined && isDay(day)) return timestampFromDate(new Date(text))
  throw new InvalidArgumentError('Write a distance such as 90d, 12h or 30m, or a time such as 2027-01-31T00:00:00Z.')
}

/** `Date` takes 31 February for a day in March. */
function isDay(day: string): boolean {
  const date = new Date(day)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}
