/**
 * What grows with the number of web keys and of replicas: the cost of a token, the key set, the work of the database.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Administrator } from '../contenders/administrator.ts'
import { derivedClients } from '../contenders/clients.ts'
import { USUAL_CLIENTS } from '../contenders/contender.ts'
import { insertClients, type Keyturn, postgresInstance, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { costRow } from './rows.ts'
import type { Bench, Result, Row } from './scenario.ts'
import { tokenLoad } from './tokens.ts'
import { transactionsPerSecond } from './transactions.ts'
import { takeTurns } from './turns.ts'

export const GROWTH_TITLE = 'growth'
/** The row of a process that issues as many tokens as it can. */
export const FULL_LOAD = '1 replica, full load'

/** As many as an instance may have unless it is set otherwise. */
const MANY_KEYS = 50
const REPLICAS = 4

/** ES256, on PostgreSQL. */
export async function growth(bench: Bench, place: Place): Promise<Result> {
  const { load, effort } = bench
  const few = await startWithKeys(2, bench, place)
  const many = await startWithKeys(MANY_KEYS, bench, place)
  const clients = derivedClients(USUAL_CLIENTS)
  const loadOn = ({ keyturn }: Instance) => ({
    ...tokenLoad({ ...keyturn, pids: keyturn.pids(), clients }),
    samples: 0,
  })
  const turns = await takeTurns(load, effort, { few: loadOn(few), many: loadOn(many) })

  const transactions = (seconds: number) =>
    transactionsPerSecond(bench.postgres, few.databaseUrl, () => delay(seconds * 1000))
  const one = await transactions(effort.quiet)
  const underLoad = await transactionsPerSecond(bench.postgres, few.databaseUrl, () =>
    load.measure({ ...loadOn(few), warmUpSeconds: 0, seconds: effort.quiet }),
  )
  for (let replica = 2; replica <= REPLICAS; replica += 1) await startKeyturn(few.settings, place)
  const all = await transactions(effort.quiet)

  const keySetBytes = async ({ keyturn }: Instance) => (await (await fetch(keyturn.keySetUrl)).bytes()).length
  const row = (name: string, cells: Row['cells']): Row => ({ name, cells })
  return {
    title: GROWTH_TITLE,
    rows: [
      row('2 web keys', { ...costRow('', turns.few).cells, 'key set bytes': await keySetBytes(few) }),
      row(`${MANY_KEYS} web keys`, { ...costRow('', turns.many).cells, 'key set bytes': await keySetBytes(many) }),
      row('1 replica, no requests', { 'database transactions per s': one }),
      row(FULL_LOAD, { 'database transactions per s': underLoad }),
      row(`${REPLICAS} replicas, no requests`, { 'database transactions per s': all }),
    ],
    targets: [],
    notes: [],
  }
}

interface Instance {
  readonly keyturn: Keyturn
  readonly settings: Parameters<typeof startKeyturn>[0]
  readonly databaseUrl: string
}

async function startWithKeys(count: number, { postgres }: Bench, place: Place): Promise<Instance> {
  const databaseUrl = await postgres.createDatabase()
  const settings = postgresInstance(databaseUrl)
  const keyturn = await startKeyturn(settings, place)
  const administrator = new Administrator(keyturn, await keyturn.admin())
  await administrator.signWith('ES256')
  // The instance has made one itself.
  for (let keys = 2; keys < count; keys += 1) await administrator.createKey('ES256')
  await insertClients(USUAL_CLIENTS, { databaseUrl, masterKey: settings.masterKey }, postgres)
  return { keyturn, settings, databaseUrl }
}
