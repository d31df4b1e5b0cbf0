/**
 * Moments, lengths of time and identifiers as text.
 */
import { type Duration, durationMs, type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const UNITS = [
  { name: 'd', length: DAY },
  { name: 'h', length: HOUR },
  { name: 'min', length: MINUTE },
  { name: 's', length: SECOND },
] as const

/** So few of a unit are not rounded. */
const FEW = 3

/** The greatest distance of a date from 1970, in milliseconds (ECMA-262 §21.4.1.1). */
const LAST_DATE = 8.64e15

/** Whether a number that was made elsewhere is one that can be formatted, in milliseconds. */
export function isMoment(at: number): boolean {
  return Math.abs(at) <= LAST_DATE
}

/** A date of a message in milliseconds. */
export function millisecondsOf(timestamp: Timestamp): number
export function millisecondsOf(timestamp: Timestamp | undefined): number | undefined
export function millisecondsOf(timestamp: Timestamp | undefined): number | undefined {
  return timestamp && timestampMs(timestamp)
}

/** A duration of a message in milliseconds. */
export function lengthOf(duration: Duration | undefined): number {
  return duration === undefined ? 0 : durationMs(duration)
}

const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const TIME_TO_THE_SECOND = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const DAY_AND_MONTH = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const DATE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })

/** A moment as short as it can be said now: the time today, the day this year, else the date. In the time zone of the browser. */
export function formatMoment(at: number, now: number): string {
  const [then, today] = [new Date(at), new Date(now)]
  if (Math.abs(at - now) < DAY) {
    const time = TIME.format(then)
    return then.toDateString() === today.toDateString() ? time : `${DAY_AND_MONTH.format(then)}, ${time}`
  }
  return then.getFullYear() === today.getFullYear() ? DAY_AND_MONTH.format(then) : DATE.format(then)
}

/** A moment to the second, with its day if that is not today. */
export function formatToTheSecond(at: number, now: number): string {
  const time = TIME_TO_THE_SECOND.format(at)
  if (new Date(at).toDateString() === new Date(now).toDateString()) return time
  return `${DATE.format(at)}, ${time}`
}

/** A moment to the second, with its time zone. */
export function formatExactly(at: number): string {
  return EXACT.format(at)
}

/** A length of time in its two largest units, for example `3 d 4 h`. */
export function formatLength(milliseconds: number): string {
  let rest = Math.max(0, Math.round(milliseconds / SECOND)) * SECOND
  const first = UNITS.findIndex(({ length }) => rest >= length)
  if (first === -1) return '0 s'
  const parts: string[] = []
  for (const { name, length } of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / length)
    if (count > 0) parts.push(`${count} ${name}`)
    rest -= count * length
  }
  return parts.join(' ')
}

/** A length of time in its largest unit, for example `90 d`; with the next one, if that makes a difference. */
export function formatRoughly(milliseconds: number): string {
  const { name, length } = UNITS.find((unit) => milliseconds >= unit.length) ?? { name: 's', length: SECOND }
  const count = milliseconds / length
  return count < FEW ? formatLength(milliseconds) : `${Math.round(count)} ${name}`
}

/** How far away a moment is: `in 3 d`, `3 d ago`, `now`. */
export function formatDistance(at: number, now: number): string {
  const distance = at - now
  if (Math.abs(distance) < SECOND) return 'now'
  return distance > 0 ? `in ${formatRoughly(distance)}` : `${formatRoughly(-distance)} ago`
}

/** So much of an identifier that is too long to be read is shown. */
const SHOWN = 8

/** The beginning of an identifier, enough to tell it from others. */
export function shortened(id: string): string {
  return id.length <= SHOWN + 2 ? id : `${id.slice(0, SHOWN)}…`
}
