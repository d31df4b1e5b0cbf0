/**
 * The commands and manifests of `docs/federation.md`, as its readers run them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const PAGE = join(import.meta.dirname, '../../docs/federation.md')

/** The blocks of code of a section in a language. */
export function blocksOf(section: string, language: string): string[] {
  const [, ...texts] = readFileSync(PAGE, 'utf8').split(/^## /m)
  const text = texts.find((each) => each.startsWith(`${section}\n`))
  if (text === undefined) throw new Error(`docs/federation.md has no section ${section}`)
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  )
}

/** The shell commands of a section, one for each command, without comments and line breaks. */
export function commandsOf(section: string): string[] {
  const lines = blocksOf(section, 'sh')
    .join('')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  return lines.map((line) => line.replace(/(^| +)#.*$/, '')).filter((line) => line !== '')
}

/** The arguments of each command of Keyturn in a section. None of them needs a shell. */
export function keyturnCommandsOf(section: string): string[][] {
  return commandsOf(section)
    .filter((command) => command.startsWith('keyturn '))
    .map((command) => command.split(/ +/).slice(1))
}
