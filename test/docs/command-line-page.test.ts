import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { CLIENT_VARIABLES } from '../../src/config/environment.ts'

it('the page about the command line lists every variable of commands, as the code has it', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/command-line.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `(KEYTURN_\w+)`/gm)].map(([, variable]) => variable)
  expect(rows).toEqual(CLIENT_VARIABLES)
})
