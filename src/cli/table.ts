/**
 * Plain tables for a terminal, and the format of times in them.
 */
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { printable } from '../domain/printable.ts'

/**
 * Rows under a heading, columns as wide as their widest cell, two blanks between them.
 *
 * @param paint Paints the heading.
 */
export function formatTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  paint: (text: string) => string = (text) => text,
): string {
  const lines = [heading, ...rows.map((row) => row.map(printable))]
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line, index) => (index === 0 ? paint(line) : line))
    .join('\n')
}

/** Names and values in two columns. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd()).join('\n')
}

/** A moment to the second, in UTC, for example `2026-11-21T08:30:00Z`. */
export function formatMoment(moment: Timestamp): string {
  return timestampDate(moment)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
}

/** A moment, or a dash without one. */
export function momentOf(moment: Timestamp | undefined): string {
  return moment === undefined ? '-' : formatMoment(moment)
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

/** Whether a moment has come. */
export function isPast(moment: Timestamp): boolean {
  return timestampDate(moment).getTime() <= Date.now()
}

const UNITS = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3600 },
  { name: 'm', seconds: 60 },
  { name: 's', seconds: 1 },
] as const

/** A length of time in its two largest units, for example `3d 4h`. */
function formatAge(milliseconds: number): string {
  let rest = Math.max(0, Math.floor(milliseconds / 1000))
  const first = UNITS.findIndex((unit) => rest >= unit.seconds)
  if (first === -1) return '0s'
  const parts: string[] = []
  for (const { name, seconds } of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / seconds)
    if (count > 0) parts.push(`${count}${name}`)
    rest -= count * seconds
  }
  return parts.join(' ')
}
