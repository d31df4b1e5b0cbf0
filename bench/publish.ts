/**
 * Writes the results of a run into `docs/performance.md`, and what follows from them into `docs/scale.md`:
 * `npm run bench:publish -- <file>`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { capacityTable } from './capacity.ts'
import { tableOf, targetTable } from './report.ts'
import type { Run } from './run.ts'
import { sizingText } from './sizing.ts'

const DOCS = join(import.meta.dirname, '../docs')
const BEGIN = '<!-- measured: begin -->'
const END = '<!-- measured: end -->'

/** `docs/performance.md` with the figures of a run instead of those that it has. @throws {Error} if it has no place for them. */
export function withFigures(page: string, run: Run): string {
  const { results } = run
  return withMeasured(page, [whereOf(run), targetTable(results), capacityTable(results), ...results.map(tableOf)])
}

/** `docs/scale.md` with what rates take by a run. @throws {Error} if it has no place for it, or the run has not measured a token. */
export function withSizing(page: string, run: Run): string {
  const sizing = sizingText(run.results)
  if (sizing === '') throw new Error('the run has not measured what a token costs')
  return withMeasured(page, [whereOf(run), sizing])
}

function withMeasured(page: string, parts: readonly string[]): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`the page has no ${BEGIN} … ${END}`)
  return `${page.slice(0, begin + BEGIN.length)}\n\n${parts.join('\n')}\n${page.slice(end)}`
}

function whereOf({ startedAt, command, machine }: Run): string {
  const { cpu, cores, node, load } = machine
  return (
    `\`${command}\` on ${startedAt.slice(0, 10)}, ${cores} shared cores (${cpu}), Node.js ${node}, load average ` +
    `${load.before.toFixed(1)} before and ${load.after.toFixed(1)} after.\n`
  )
}

if (import.meta.main) {
  const [file] = process.argv.slice(2)
  if (file === undefined) throw new Error('which file? npm run bench:publish -- bench/results/….json')
  const run = JSON.parse(readFileSync(file, 'utf8')) as Run
  const pages = { 'performance.md': withFigures, 'scale.md': withSizing }
  for (const [name, write] of Object.entries(pages)) {
    const page = join(DOCS, name)
    writeFileSync(page, write(readFileSync(page, 'utf8'), run))
  }
}
