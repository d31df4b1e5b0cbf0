import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { withSettingsTable } from '../../scripts/settings-table.ts'

const README = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')

describe('the README', () => {
  it('has the table of settings as the code has them', () => {
    expect(README).toBe(withSettingsTable(README))
  })

  it('gives no program a secret or a token as an argument, which every user of a machine can see', () => {
    const blocks = [...README.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = '']) => code.replaceAll('\\\n', ' '))
    const uses = blocks.flatMap((code) => code.split('\n')).filter((line) => /\$(TOKEN|CLIENT_SECRET)/.test(line))
    expect(uses).toHaveLength(4)
    // A here-string, or what the shell itself prints into a pipe.
    const withoutInput = uses.map((line) => line.replace(/<<< "[^"]*"|^printf %s "[^"]*" \|/, ''))
    expect(withoutInput.filter((line) => /\$(TOKEN|CLIENT_SECRET)/.test(line))).toEqual([])
  })
})
