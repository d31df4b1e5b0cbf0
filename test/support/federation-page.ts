/**
 * The commands of `docs/federation.md`, as its readers run them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const PAGE = join(import.meta.dirname, '../../docs/federation.md')

/** The shell commands of a section, one for each command, without what only continues a line and without comments. */
export function commandsOf(section: string): string[] {
  const [, ...texts] = readFileSync(PAGE, 'utf8').split(/^## /m)
  const text = texts.find((each) => each.startsWith(`${section}\n`))
  if (text === undefined) throw new Error(`docs/federation.md has no section ${section}`)
  const shell = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = '']) => code).join('')
  const lines = shell.replaceAll(/\\\n\s*/g, '').split('\n')
  return lines.map((line) => line.replace(/(^| +)#.*$/, '')).filter((line) => line !== '')
}

/** The arguments of each command of Keyturn in a section. None of them needs a shell. */
export function keyturnCommandsOf(section: string): string[][] {
  return commandsOf(section)
    .filter((command) => command.startsWith('keyturn '))
    .map((command) => command.split(/ +/).slice(1))
}
