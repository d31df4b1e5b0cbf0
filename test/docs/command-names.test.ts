/**
 * Every command that a page, an alert or a comment for operators names is one of the command line, with the options that it is
 * named with. Whether the commands work is in `commands.test.ts`, for the pages that can be tried.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'

const ROOT = join(import.meta.dirname, '../..')
const FILES = ['README.md', 'SECURITY.md', 'docs/**/*.md', 'deploy/**/*.{md,yml,yaml}', 'docker-compose.yml']

/** In backticks or quotes, or a line of a shell block or of a comment. */
const NAMED = [
  /[`"](?:npx )?keyturn ([^`"]+)[`"]/g,
  /^(?:# {2})? *(?:npx )?keyturn ([^#\n]+)/gm,
  /keyturn\.js ([^`\n]+)/g,
]

let program: Command
beforeAll(async () => {
  program = await createProgram({ stdout: process.stdout, stderr: process.stderr, isTerminal: false, env: {} })
})

/** What is wrong with a command as it is named; undefined if nothing is. */
function mistakeIn(named: string): string | undefined {
  const [line = ''] = named.split(/[|>&;)]/)
  const words = line.split(/\s+/).filter((word) => word !== '')
  let command = program
  for (const word of words) {
    if (command.commands.length === 0 || !/^[a-z][a-z-]*$/.test(word)) break
    const next = command.commands.find((candidate) => candidate.name() === word)
    if (next === undefined) return `${command.name()} has no command ${word}`
    command = next
  }
  const options = ['--help', ...command.options.map(({ long }) => long)]
  const unknown = words.find((word) => word.startsWith('--') && !options.includes(word))
  return unknown === undefined ? undefined : `${command.name()} has no option ${unknown}`
}

describe('commands that are named for operators', () => {
  let named: { file: string; command: string }[] = []
  beforeAll(() => {
    const files = globSync(FILES, { cwd: ROOT })
    named = files.flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8').replaceAll('\\\n', ' ')
      return NAMED.flatMap((pattern) => [...text.matchAll(pattern)].map(([, command = '']) => ({ file, command })))
    })
  })

  it('exist, with their options', () => {
    const mistakes = named.flatMap(({ file, command }) => {
      const mistake = mistakeIn(command)
      return mistake === undefined ? [] : [{ file, command, mistake }]
    })
    expect(mistakes).toEqual([])
  })
})
