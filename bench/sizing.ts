/**
 * What a rate of tokens takes: cores, memory, connections, and transactions of the database, from what a run has measured.
 */
import { PRIMARY_CONNECTIONS } from '../src/server/database.ts'
import { DEFAULT_MAX_CONNECTIONS } from '../src/storage/postgres/postgres-pool.ts'
import { markdownTable, text } from './report.ts'
import { CREDENTIALS_TITLE, TRANSACTIONS } from './scenarios/credentials.ts'
import { FULL_LOAD, GROWTH_TITLE } from './scenarios/growth.ts'
import { MANY_USERS_TITLE } from './scenarios/many-users.ts'
import type { Result, Row } from './scenarios/scenario.ts'
import { ON_POSTGRES, tokensTitle } from './scenarios/tokens.ts'

/** How busy a core should be on average, so that queues stay short and a lost replica is no loss of service. */
export const UTILISATION = 0.6
/** Processes beyond those that the rate takes, for those that are lost or replaced. */
const SPARE = 0.1
/** How often a process compares versions, in its own database. What else it does in a transaction is written to the primary. */
const COMPARISONS_PER_SECOND = 1
const SITES: readonly Site[] = [
  { rate: 1_000, regions: 1 },
  { rate: 10_000, regions: 1 },
  { rate: 100_000, regions: 1 },
  { rate: 1_000_000, regions: 1 },
  { rate: 1_000_000, regions: 5 },
]

/** Tokens a second in all, and over how many regions. Several carry the rate without one of them. */
interface Site {
  readonly rate: number
  readonly regions: number
}

/** What the arithmetic begins with, as it is printed, so that readers can repeat it. Undefined: not measured in this run. */
export interface SizingFigures {
  /** CPU of a token for a client secret, signed with ES256, in microseconds. */
  readonly cpuMicros: number
  /** Resident memory of a process with many users. */
  readonly megabytes: number | undefined
  /** Transactions that a process makes while it issues as many tokens as it can. */
  readonly transactionsPerSecond: number | undefined
}

/** The figures of a run; undefined if it has not measured what a token costs. */
function sizingFigures(results: readonly Result[]): SizingFigures | undefined {
  const figure = (title: string, row: (name: string) => boolean, column: string): number | undefined => {
    const cell = results.find((result) => result.title === title)?.rows.findLast(({ name }) => row(name))?.cells[column]
    return typeof cell === 'number' ? Number(text(cell)) : undefined
  }
  const cpuMicros = figure(tokensTitle('ES256'), (name) => name === ON_POSTGRES, 'CPU µs')
  if (cpuMicros === undefined) return undefined
  return {
    cpuMicros,
    megabytes: figure(MANY_USERS_TITLE, () => true, 'RSS MB'),
    transactionsPerSecond: figure(GROWTH_TITLE, (name) => name === FULL_LOAD, 'database transactions per s'),
  }
}

/** What the rates take by a run, and what other requests cost. Empty if it has not measured what a token costs. */
export function sizingText(results: readonly Result[]): string {
  const figures = sizingFigures(results)
  return figures === undefined ? '' : [sizingTable(figures), multiplesOf(results)].join('\n')
}

/** For each rate, what it takes. */
export function sizingTable(figures: SizingFigures): string {
  const { cpuMicros, megabytes, transactionsPerSecond } = figures
  const perVcpu = (1e6 / cpuMicros) * UTILISATION
  const lines = SITES.map(({ rate, regions }) => {
    const vcpus = Math.ceil(rate / Math.max(1, regions - 1) / perVcpu)
    const processes = regions === 1 ? vcpus + Math.ceil(vcpus * SPARE) : vcpus
    const all = processes * regions
    const inOtherRegions = all - processes
    return [
      whole(rate),
      String(regions),
      String(vcpus),
      whole(all),
      whole(all - Math.ceil(rate / perVcpu)),
      megabytes === undefined ? '' : gigabytes(all * megabytes),
      whole(processes * DEFAULT_MAX_CONNECTIONS + inOtherRegions * PRIMARY_CONNECTIONS),
      regions === 1 ? '' : whole(processes * DEFAULT_MAX_CONNECTIONS),
      transactionsPerSecond === undefined
        ? ''
        : whole(processes * transactionsPerSecond + inOtherRegions * (transactionsPerSecond - COMPARISONS_PER_SECOND)),
    ]
  })
  const head = [
    'tokens per second',
    'regions',
    'vCPUs in each',
    'processes in all',
    'spare ones of these',
    'memory in all',
    'connections to the primary, at most',
    'connections to each standby, at most',
    'transactions per second of the primary',
  ]
  return ['### What a rate takes', '', ...markdownTable([head, ...lines]), '', ...explanation(figures), ''].join('\n')
}

/** The arithmetic in words. */
function explanation({ cpuMicros, megabytes, transactionsPerSecond }: SizingFigures): string[] {
  const perVcpu = whole((1e6 / cpuMicros) * UTILISATION)
  const measured = (value: number | undefined, unit: string) =>
    value === undefined ? 'not measured in this run' : `${text(value)} ${unit}`
  return [
    `Client secrets, ES256, without TLS: ${text(cpuMicros)} µs of CPU for each token, which is ${perVcpu} tokens a second of a vCPU that is`,
    `${UTILISATION * 100} % busy. One process for each vCPU, and ${SPARE * 100} % more, at least one; of several regions all but one carry the rate.`,
    `Of each process: memory with many users ${measured(megabytes, 'MB')}, connections ${DEFAULT_MAX_CONNECTIONS}, and ${PRIMARY_CONNECTIONS} to the primary from another region`,
    `with KEYTURN_PRIMARY_DATABASE_URL, transactions under full load ${measured(transactionsPerSecond, 'a second')}. The comparison of versions,`,
    `${COMPARISONS_PER_SECOND} a second, is in the database of the region; the others, such as heartbeats and dates of last use, count for the primary.`,
  ]
}

/** What other requests cost, as a multiple of the one that the sizes are for; empty if nothing else was measured. */
function multiplesOf(results: readonly Result[]): string {
  const rowsOf = (title: string) => results.find((result) => result.title === title)?.rows ?? []
  const number = (row: Row | undefined, column: string): number | undefined => {
    const cell = row?.cells[column]
    return typeof cell === 'number' ? cell : undefined
  }
  const token = (algorithm: 'RS256' | 'ES256') => {
    const row = rowsOf(tokensTitle(algorithm)).find(({ name }) => name === ON_POSTGRES)
    return row === undefined ? [] : [{ ...row, name: algorithm }]
  }
  const multiples = [[...token('ES256'), ...token('RS256')], rowsOf(CREDENTIALS_TITLE)].flatMap(([plain, ...others]) =>
    others.flatMap((other) => {
      const [cost, of] = [number(other, 'CPU µs'), number(plain, 'CPU µs')]
      if (cost === undefined || of === undefined) return []
      const transactions = number(other, TRANSACTIONS)
      const recorded =
        transactions === undefined ? '' : ` and ${text(transactions)} database transactions for 1000 tokens`
      return [`${other.name} ${(cost / of).toFixed(1)} ×${recorded}`]
    }),
  )
  return multiples.length === 0 ? '' : `Other requests take more CPU: ${multiples.join(', ')}.\n`
}

function whole(value: number): string {
  return String(Math.ceil(value)).replace(/\B(?=(\d{3})+$)/g, ' ')
}

function gigabytes(megabytes: number): string {
  return `${(Math.ceil(megabytes / 100) / 10).toFixed(1)} GB`
}
