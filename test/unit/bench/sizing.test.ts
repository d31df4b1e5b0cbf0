import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { Result } from '../../../bench/scenarios/scenario.ts'
import { sizingTable, sizingText } from '../../../bench/sizing.ts'

const DOCS = join(import.meta.dirname, '../../../docs')
const page = (name: string) => readFileSync(join(DOCS, name), 'utf8')

function result(title: string, rows: Readonly<Record<string, Result['rows'][number]['cells']>>): Result {
  return { title, rows: Object.entries(rows).map(([name, cells]) => ({ name, cells })), targets: [], notes: [] }
}

const TOKENS = result('tokens, ES256', { 'Keyturn, PostgreSQL': { 'CPU µs': 100.04 } })
const USERS = result('many service users (ES256)', {
  '10 users in the database, all active': { 'RSS MB': 150 },
  '1000000 users in the database, 10000 active': { 'RSS MB': 200 },
})
const GROWTH = result('growth', {
  '1 replica, full load': { 'database transactions per s': 2 },
  '4 replicas, no requests': { 'database transactions per s': 6 },
})

/** The lines of a table, without its head. */
function lines(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  )
}

describe('what a rate takes', () => {
  it('follows from the CPU of a token, the memory and the transactions of a process', () => {
    expect(lines(sizingText([TOKENS, USERS, GROWTH]))).toEqual([
      // 100 µs are 6000 tokens a second of a vCPU that is 60 % busy. A tenth more processes, at least one.
      ['1 000', '1', '1', '2', '1', '0.4 GB', '20', '', '4'],
      ['10 000', '1', '2', '3', '1', '0.6 GB', '30', '', '6'],
      ['100 000', '1', '17', '19', '2', '3.8 GB', '190', '', '38'],
      ['1 000 000', '1', '167', '184', '17', '36.8 GB', '1 840', '', '368'],
      // Four of five regions carry the rate, 42 processes each. The primary has the 10 connections of its own processes and 5 of each of
      // the other 168, the 2 transactions of its own, and of the others all but the comparison of versions.
      ['1 000 000', '5', '42', '210', '43', '42.0 GB', '1 260', '420', '252'],
    ])
  })
})

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
