/**
 * Writes the table of settings into the README. A test fails when it is not up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { SETTINGS } from '../src/config/settings.ts'

const BEGIN = '<!-- settings: begin -->'
const END = '<!-- settings: end -->'

/** The README with the table as it should be. */
export function withSettingsTable(readme: string): string {
  const begin = readme.indexOf(BEGIN) + BEGIN.length
  const end = readme.indexOf(END)
  return `${readme.slice(0, begin)}\n${settingsTable()}\n${readme.slice(end)}`
}

function settingsTable(): string {
  const rows = SETTINGS.map(({ variable, flag, default: fallback, description }) => {
    const name = flag === undefined ? `\`${variable}\`` : `\`${variable}\` (\`${flag}\`)`
    return `| ${name} | ${fallback} | ${description.replaceAll('|', '\\|')} |`
  })
  return ['| variable (flag) | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

if (import.meta.main) writeFileSync('README.md', withSettingsTable(readFileSync('README.md', 'utf8')))
