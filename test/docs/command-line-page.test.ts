import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { CLIENT_SETTINGS } from '../../src/config/client-settings.ts'

it('the page about the command line lists every variable of commands, as the code has it', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/command-line.md'), 'utf8')
  const rows = CLIENT_SETTINGS.map((setting) => {
    const option = 'flag' in setting ? ` (\`${setting.flag}\`)` : ''
    return `| \`${setting.variable}\`${option} | ${setting.meaning} |`
  })
  expect(page.split('\n').filter((line) => line.startsWith('| `KEYTURN_'))).toEqual(rows)
})
