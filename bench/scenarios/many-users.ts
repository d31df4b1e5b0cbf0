/**
 * What it costs that there are many service users: in the database, in memory, and at the first request of each.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Administrator, tokenForm } from '../contenders/administrator.ts'
import { derivedClients } from '../contenders/clients.ts'
import { type Credentials, USUAL_CLIENTS } from '../contenders/contender.ts'
import {
  type InstanceSettings,
  insertClients,
  type Keyturn,
  postgresInstance,
  startKeyturn,
} from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { Connection } from '../load/connection.ts'
import { postRequest } from '../load/requests.ts'
import { cpuSecondsOf, residentMegabytesOf } from '../processes/usage.ts'
import { percentileOf, spreadOf } from '../statistics.ts'
import { type HeldMemory, heldByUsers } from './held-by-users.ts'
import { costRow, memoryTarget } from './rows.ts'
import type { Bench, Result } from './scenario.ts'
import { type Scans, scansSince } from './table-scans.ts'
import { tokenLoad } from './tokens.ts'
import { cpuRatio, takeTurns } from './turns.ts'

/** Its last row is the one with many users in memory. */
export const MANY_USERS_TITLE = 'many service users (ES256)'

/** First requests that are measured one by one. The others of the active users come all at once. */
const FIRST_REQUESTS = 500
const CONNECTIONS = 8
const CHANGES = 10
/**
 * A server looks for unused secrets at its start, and again every five minutes, which reads whole tables. PostgreSQL counts that
 * within ten seconds. In milliseconds.
 */
const FIRST_LOOK_MILLIS = 20_000
const HEADERS = { 'content-type': 'application/x-www-form-urlencoded' }

/** An instance with ten users beside one with many. */
export async function manyUsers(bench: Bench, place: Place): Promise<Result> {
  const { load, effort, tell } = bench
  const { inDatabase, active } = effort.users
  const few = await startWith(USUAL_CLIENTS, bench, place)
  tell(`inserting ${inDatabase} users`)
  const many = await startWith(inDatabase, bench, place)

  const clients = derivedClients(active)
  const sample = clients.slice(0, FIRST_REQUESTS)
  await delay(FIRST_LOOK_MILLIS)
  const { millis, scans } = await firstRequests(many, sample, bench)
  await askAtOnce(many.keyturn, clients.slice(FIRST_REQUESTS))

  const loadOn = ({ keyturn }: Instance, some: readonly Credentials[]) => ({
    ...tokenLoad({ ...keyturn, pids: keyturn.pids(), clients: some }),
    samples: 0,
  })
  const few10 = `${USUAL_CLIENTS} users in the database, all active`
  const many10k = `${inDatabase} users in the database, ${active} active`
  const turns = await takeTurns(load, effort, {
    few: loadOn(few, derivedClients(USUAL_CLIENTS)),
    many: loadOn(many, clients),
  })
  const changes = { few: await changesOf(few), many: await changesOf(many) }
  const memory = { few: residentMegabytesOf([few.keyturn.pid]), many: residentMegabytesOf([many.keyturn.pid]) }
  const held = await heldByUsers(many.settings, { clients, request: askAtOnce }, place)
  const row = (name: string, of: 'few' | 'many') => {
    const { cells } = costRow(name, turns[of])
    return { name, cells: { ...cells, 'RSS MB': memory[of] } }
  }
  const perRequest = (count: number) => count / sample.length
  return {
    title: MANY_USERS_TITLE,
    rows: [row(few10, 'few'), row(many10k, 'many')],
    targets: [
      {
        name: `${many10k}: CPU per token / with ${USUAL_CLIENTS}`,
        limit: { atMost: 1.1 },
        unit: '×',
        measured: cpuRatio(turns.many, turns.few),
      },
      memoryTarget(many10k, memory.many),
      {
        name: 'look-ups of users by index, per first request of a user',
        limit: { atMost: 1 },
        unit: '',
        measured: perRequest(scans.userIndexScans),
      },
      {
        name: 'scans of whole tables of users and secrets, per first request',
        limit: { atMost: 0 },
        unit: '',
        measured: perRequest(scans.tableScans),
      },
    ],
    notes: [
      `The first request of a user takes ${spreadOf(millis).median.toFixed(2)} ms (median of ${sample.length}), p99 ` +
        `${percentileOf(millis, 0.99).toFixed(2)} ms; each looks up secrets by index ` +
        `${perRequest(scans.secretIndexScans).toFixed(2)} times.`,
      changeNote(changes, active),
      heldNote(held),
    ],
  }
}

function heldNote({ mebibytes, kibibytesPerUser }: HeldMemory): string {
  return (
    `After a collection a process holds ${mebibytes.toFixed(0)} MB, and ${kibibytesPerUser.toFixed(2)} KB for each user in memory ` +
    'that has one secret.'
  )
}

interface Instance {
  readonly keyturn: Keyturn
  readonly settings: InstanceSettings
  readonly admin: Credentials
  readonly databaseUrl: string
}

/** An instance with so many users, served by a process that has seen none of them. */
async function startWith(count: number, { postgres }: Bench, place: Place): Promise<Instance> {
  const databaseUrl = await postgres.createDatabase()
  const settings = postgresInstance(databaseUrl)
  const setUp = await startKeyturn(settings, place)
  const admin = await setUp.admin()
  await new Administrator(setUp, admin).signWith('ES256')
  await setUp.stop()
  await insertClients(count, { databaseUrl, masterKey: settings.masterKey }, postgres)
  return { databaseUrl, admin, settings, keyturn: await startKeyturn(settings, place) }
}

/** The cost of a change. */
interface Change {
  readonly millis: number
  readonly cpuMillis: number
}

/** What a change costs that concerns no user, answered when the replica has taken it over. */
async function changesOf({ keyturn, admin }: Instance): Promise<Change> {
  const administrator = new Administrator(keyturn, admin)
  // The users were inserted without a note, so it has all users in memory read again.
  await administrator.createProject('first')
  const startedAt = performance.now()
  const cpuBefore = cpuSecondsOf([keyturn.pid])
  for (let count = 0; count < CHANGES; count += 1) await administrator.createProject(`change-${count}`)
  const cpuMillis = (cpuSecondsOf([keyturn.pid]) - cpuBefore) * 1000
  return { millis: (performance.now() - startedAt) / CHANGES, cpuMillis: cpuMillis / CHANGES }
}

function changeNote({ few, many }: { readonly few: Change; readonly many: Change }, active: number): string {
  const cost = ({ millis, cpuMillis }: Change) =>
    `${millis.toFixed(0)} ms and ${cpuMillis.toFixed(0)} ms of CPU of each replica`
  return (
    `A change that concerns no user reads none again: with ${USUAL_CLIENTS} in memory it takes ${cost(few)}, with ${active} ` +
    `${cost(many)} (mean of ${CHANGES}).`
  )
}

async function firstRequests(
  { keyturn, databaseUrl }: Instance,
  clients: readonly Credentials[],
  { postgres }: Bench,
): Promise<{ readonly millis: readonly number[]; readonly scans: Scans }> {
  const { result: millis, scans } = await scansSince(postgres, databaseUrl, {
    atLeast: clients.length,
    work: () => askOnce(keyturn, clients),
  })
  return { millis, scans }
}

/** One request of each client, one after the other. Times in milliseconds. @throws {Error} unless all get tokens. */
async function askOnce(keyturn: Keyturn, clients: readonly Credentials[]): Promise<number[]> {
  const connection = new Connection(keyturn.url)
  const millis: number[] = []
  for (const client of clients) {
    const startedAt = performance.now()
    const request = postRequest(keyturn.tokenUrl, { headers: HEADERS, body: tokenForm(client) })
    await new Promise<void>((resolve, reject) => {
      connection.ask(request, (answer) => {
        if (answer instanceof Error) reject(answer)
        else if (answer.status === 200) resolve()
        else reject(new Error(`a first request got ${answer.status} ${answer.body}`))
      })
    })
    millis.push(performance.now() - startedAt)
  }
  connection.close()
  return millis
}

/** The same on several connections. */
function askAtOnce(keyturn: Keyturn, clients: readonly Credentials[]): Promise<unknown> {
  return Promise.all(slices(clients, CONNECTIONS).map((some) => askOnce(keyturn, some)))
}

function slices<T>(things: readonly T[], count: number): T[][] {
  return Array.from({ length: count }, (_, slice) => things.filter((_thing, index) => index % count === slice))
}
