import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { sizingTable } from '../../../bench/sizing.ts'

const DOCS = join(import.meta.dirname, '../../../docs')
const page = (name: string) => readFileSync(join(DOCS, name), 'utf8')

describe('docs/scale.md', () => {
  it('has what follows from the figures of docs/performance.md, of the same run', () => {
    const performance = page('performance.md')
    const scale = page('scale.md')
    const cell = (title: string, row: string, column: string) => {
      const section = performance.slice(performance.indexOf(`### ${title}\n`)).split('\n')
      const head = section
        .find((line) => line.startsWith('| '))
        ?.split('|')
        .map((text) => text.trim())
      const cells = section
        .find((line) => line.startsWith(`| ${row} `))
        ?.split('|')
        .map((text) => text.trim())
      return Number(cells?.[head?.indexOf(column) ?? -1])
    }
    const table = sizingTable({
      cpuMicros: cell('tokens, ES256', 'Keyturn, PostgreSQL', 'CPU µs'),
      megabytes: cell('many service users (ES256)', '1000000 users in the database, 10000 active', 'RSS MB'),
      transactionsPerSecond: cell('growth', '1 replica, full load', 'database transactions per s'),
    })
    expect(scale).toContain(table)
    const run = /^`npm run bench`.* before and .* after\.$/m
    expect(run.exec(scale)?.[0]).toBe(run.exec(performance)?.[0])
  })
})
