/**
 * Writes the results of a run into `docs/performance.md`, with what follows from them: `npm run bench:publish -- <file>`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { capacityTable } from './capacity.ts'
import { tableOf, targetTable } from './report.ts'
import type { Run } from './run.ts'

const PAGE = join(import.meta.dirname, '../docs/performance.md')
const BEGIN = '<!-- measured: begin -->'
const END = '<!-- measured: end -->'

/** The page with the figures of a run instead of those that it has. @throws {Error} if it has no place for them. */
export function withFigures(page: string, run: Run): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`the page has no ${BEGIN} … ${END}`)
  return `${page.slice(0, begin + BEGIN.length)}\n${figures(run)}\n${page.slice(end)}`
}

function figures({ startedAt, command, machine, results }: Run): string {
  const { cpu, cores, node, load } = machine
  const where =
    `\`${command}\` on ${startedAt.slice(0, 10)}, ${cores} shared cores (${cpu}), Node.js ${node}, load average ` +
    `${load.before.toFixed(1)} before and ${load.after.toFixed(1)} after.`
  return ['', where, '', targetTable(results), capacityTable(results), ...results.map(tableOf)].join('\n')
}

if (import.meta.main) {
  const [file] = process.argv.slice(2)
  if (file === undefined) throw new Error('which file? npm run bench:publish -- bench/results/….json')
  writeFileSync(PAGE, withFigures(readFileSync(PAGE, 'utf8'), JSON.parse(readFileSync(file, 'utf8')) as Run))
}
