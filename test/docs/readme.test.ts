import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { withSettingsTable } from '../../scripts/settings-table.ts'

describe('the README', () => {
  it('has the table of settings as the code has them', () => {
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    expect(readme).toBe(withSettingsTable(readme))
  })
})
