/**
 * Results as text for people, and as JSON.
 */
import { isMet, type Result, type Target } from './scenarios/scenario.ts'

/** One table for a scenario, in Markdown, which can be read as it is. */
export function tableOf({ title, rows, notes }: Result): string {
  const columns = [...new Set(rows.flatMap(({ cells }) => Object.keys(cells)))]
  const lines = [
    ['', ...columns],
    ...rows.map(({ name, cells }) => [name, ...columns.map((column) => text(cells[column]))]),
  ]
  return [`### ${title}`, '', ...markdownTable(lines), ...notes.map((note) => `\n${note}`), ''].join('\n')
}

/** Every target, what was measured, and whether that is enough. Empty if there are none. */
export function targetTable(results: readonly Result[]): string {
  const targets = results.flatMap((result) => result.targets)
  if (targets.length === 0) return ''
  const lines = targets.map((target) => [
    target.name,
    limitOf(target),
    `${text(target.measured)} ${target.unit}`,
    isMet(target) ? 'met' : 'NOT MET',
  ])
  const missed = targets.filter((target) => !isMet(target)).length
  return [
    '### Targets',
    '',
    'Ratios of CPU are medians of the ratios within a round. They do not follow from the medians in the tables.',
    '',
    ...markdownTable([['', 'target', 'measured', ''], ...lines]),
    ...targets.flatMap(({ name, remark }) => (remark === undefined ? [] : [`\n${name}: ${remark}.`])),
    '',
    missed === 0 ? `All ${targets.length} targets are met.` : `${missed} of ${targets.length} targets are NOT MET.`,
    '',
  ].join('\n')
}

function limitOf({ limit, unit }: Target): string {
  return 'atMost' in limit ? `≤ ${limit.atMost} ${unit}` : `≥ ${limit.atLeast} ${unit}`
}

/** A table; the first line is its head. */
export function markdownTable(lines: readonly (readonly string[])[]): string[] {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(3, ...lines.map((line) => (line[column] ?? '').length)))
  const row = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = lines
  return [row(head), row(widths.map((width) => '-'.repeat(width))), ...body.map(row)]
}

/** Numbers with three digits that matter; whole ones as they are. */
export function text(value: number | string | undefined): string {
  if (typeof value !== 'number') return value ?? ''
  if (Number.isInteger(value) || Math.abs(value) >= 100) return String(Math.round(value))
  return value.toPrecision(3)
}
