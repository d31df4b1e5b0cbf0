/**
 * Plain tables for a terminal.
 */

/** Rows under a heading, columns as wide as their widest cell, two blanks between them. */
export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, ...rows]
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const UNITS = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3600 },
  { name: 'm', seconds: 60 },
  { name: 's', seconds: 1 },
] as const

/** A length of time in its two largest units, for example `3d 4h`. */
export function formatAge(milliseconds: number): string {
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
