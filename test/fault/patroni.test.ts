/**
 * A PostgreSQL cluster that heals itself (`deploy/patroni`): its leader changes in order, dies, freezes and is cut off from etcd, ten
 * times in order and ten times not, under tokens and administration.
 */
import { afterEach, beforeEach, expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type PatroniCluster, startPatroni, WITHOUT_PATRONI } from '../support/patroni.ts'
import { itUnless } from '../support/unless.ts'
import { distributionOf, gapsBetween, longestGapPerFault } from './figures.ts'
import type { Ledger } from './ledger.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario, type Scene } from './scenario.ts'

/** How often of each. `.ci/run` asks for fewer, because an election takes 20 s. */
const SWITCHOVERS = Number(process.env.KEYTURN_TEST_SWITCHOVERS ?? 10)
const FAILURES = Number(process.env.KEYTURN_TEST_FAILURES ?? 10)

/** Changes that show that administration goes on. */
const CHANGES_AFTERWARDS = 5

let cluster: PatroniCluster | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  if (WITHOUT_PATRONI === undefined) cluster = await startPatroni()
})
afterEach(async () => {
  await replicas?.kill()
  await cluster?.destroy()
})

itUnless(WITHOUT_PATRONI)(
  'loses nothing that was acknowledged, and issues tokens all the time, while the leader changes, dies, freezes or is cut off',
  async () => {
    const database = cluster!
    replicas = await startReplicas({ databaseUrl: database.url() })
    let seen: Ledger | undefined

    const figures = await playScenario({
      name: 'Patroni: the leader changes, dies, freezes, is cut off from etcd',
      replicas,
      server: () => database,
      fault: async ({ ledger }) => {
        seen = ledger
        for (let turn = 0; turn < SWITCHOVERS; turn += 1) {
          ledger.fault('switchover')
          const leader = await database.leaderName()
          await database.switchOver()
          await recovered(database, ledger, leader)
          await database.untilHealthy()
        }
        const breaks = [
          ['kill -9', () => database.killLeader()],
          ['frozen', () => database.freezeLeader()],
          ['cut off from etcd', () => database.cutOffLeader()],
        ] as const
        for (let turn = 0; turn < FAILURES; turn += 1) {
          const [what, breakLeader] = breaks[turn % breaks.length]!
          const leader = await database.leaderName()
          ledger.fault(what)
          const mend = await breakLeader()
          await recovered(database, ledger, leader)
          await mend()
          await database.untilHealthy()
        }
      },
    })

    process.stdout.write(outages(seen!))
    expect(figures.failures).toMatchObject({ unavailable: 0, wrong: 0 })
    expect(figures.faults).toBe(SWITCHOVERS + FAILURES)
  },
  30 * 60_000,
)

/** Another node leads, and changes are acknowledged again. */
async function recovered(database: PatroniCluster, ledger: Scene['ledger'], former: string): Promise<void> {
  await database.untilLedByAnother(former)
  const before = ledger.changes.length
  await eventually(() => expect(ledger.changes.length).toBeGreaterThanOrEqual(before + CHANGES_AFTERWARDS))
}

/** How long no change was acknowledged, for each kind of fault. */
function outages({ changes, faults }: Ledger): string {
  const span = [faults[0]?.at ?? 0, performance.now()] as const
  const times = changes.map(({ at }) => at)
  const perFault = longestGapPerFault(gapsBetween(times, span), faults)
  const kinds = [...new Set(faults.map(({ what }) => what))]
  const lines = kinds.map((kind) => {
    const { count, median, worst } = distributionOf(perFault.filter((_, index) => faults[index]?.what === kind))!
    return `  ${kind.padEnd(20)} ${count} times, median ${seconds(median)} s, worst ${seconds(worst)} s`
  })
  return ['\nAdministration refused, by what happened to the leader:', ...lines, ''].join('\n')
}

function seconds(millis: number): string {
  return (millis / 1000).toFixed(1)
}
