/**
 * A scenario: replicas under load while keys rotate and something breaks, and what must be true of it, whatever broke.
 *
 * Every token that is issued is verified; what must not happen is noted in the ledger while it runs, and the rest is
 * checked when the fault is over and everything has come back by itself.
 */
import { expect } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { eventually } from '../support/eventually.ts'
import { Administrator } from './administrator.ts'
import { startDatabaseWatch } from './database-watch.ts'
import { createHttpClient, type Send } from './http-client.ts'
import { type Aftermath, expectAgreement, expectNothingLost } from './invariants.ts'
import { Ledger } from './ledger.ts'
import type { PostgresServer } from './postgres-server.ts'
import type { Replica, Replicas } from './replicas.ts'
import { startRotation } from './rotation.ts'
import { createProject, createServiceUser, deactivateSecret, generateSecret } from './service-users.ts'
import { startTokenLoad } from './token-load.ts'
import { askForToken, type TokenClient, type TokenResult } from './token-request.ts'
import { Verifier } from './verifier.ts'

/** Rotations after a fault that show that all is well again. */
const ROTATIONS_AFTERWARDS = 3
/** A replica may hold so much more memory at the end than when the load began, in MiB. */
const MAX_GROWTH = 10

/** What a scenario is made of. Who calls makes and ends the server and the replicas. */
export interface ScenarioOptions {
  readonly replicas: Replicas
  /** The server that has the database in the end. Asked again whenever it is needed. */
  readonly server: () => Pick<PostgresServer, 'url' | 'query'>
  /** Breaks things and mends them; returns when there is nothing left to mend. */
  readonly fault: () => Promise<void>
}

/** Plays a scenario to its end, and checks it. */
export async function playScenario(options: ScenarioOptions): Promise<Ledger> {
  const { send, close } = createHttpClient()
  const stops: Stop[] = []
  try {
    return await play(options, send, stops)
  } finally {
    // Whatever still asks for something fails now, and with that it ends.
    close()
    await Promise.allSettled(stops.map((stop) => stop()))
  }
}

type Stop = () => Promise<unknown>

async function play({ replicas, server, fault }: ScenarioOptions, send: Send, stops: Stop[]): Promise<Ledger> {
  const ledger = new Ledger()
  const verifier = new Verifier({ replicas, send, ledger })
  stops.push(() => verifier.drain())
  const administrator = new Administrator({ replicas, administered: replicas.all, send, ledger })
  const projectId = await createProject(administrator, 'robots')
  const userId = await createServiceUser(administrator, projectId, 'gets tokens')
  const client = await generateSecret(administrator, userId)
  const unwanted = await generateSecret(administrator, userId)

  const ask = async (replica: Replica, as: TokenClient): Promise<TokenResult> => {
    const askedAt = Date.now()
    const result = await askForToken(send, replica, as)
    if (result.kind === 'issued') {
      ledger.tokens += 1
      verifier.verify(result.token, replica, askedAt)
    }
    if (result.kind === 'failed') {
      const { failure, detail } = result
      if (failure === 'wrong' || failure === 'silent') ledger.wrong(`a token of replica ${replica.name}: ${detail}`)
    }
    return result
  }
  const getToken = async (replica: Replica) => {
    const result = await ask(replica, client)
    if (result.kind === 'rejected') ledger.wrong(`replica ${replica.name} says that a good secret is wrong`)
    return result.kind === 'issued'
  }

  const rotation = startRotation({ administrator, ledger })
  stops.push(() => rotation.stop())
  const stopLoad = startTokenLoad(replicas.all, getToken)
  stops.push(stopLoad)
  const watch = startDatabaseWatch(() => server().url(), ledger)
  stops.push(() => watch.stop())

  const activations = () => ledger.keysThatWere('activate').length
  const untilRotatedTo = (count: number) => eventually(() => expect(activations()).toBeGreaterThanOrEqual(count))
  await untilRotatedTo(ROTATIONS_AFTERWARDS)
  const memoryBefore = await memoryOf(replicas)

  await fault()
  await untilRotatedTo(activations() + ROTATIONS_AFTERWARDS)
  for (const { url } of replicas.all) {
    await eventually(async () => expect(await send(`${url}/readyz`)).toMatchObject({ status: 200 }))
  }
  await deactivateSecret(administrator, unwanted)
  await rotation.stop()
  const signer = ledger.keysThatWere('activate').at(-1)
  for (const replica of replicas.all) {
    await eventually(async () => expect((await ask(replica, unwanted)).kind).toBe('rejected'))
    await eventually(async () => {
      const result = await ask(replica, client)
      expect(result.kind === 'issued' && decodeProtectedHeader(result.token).kid).toBe(signer)
    })
  }
  await stopLoad()
  await verifier.drain()
  await watch.stop()

  const { deletionsBegun } = rotation
  const aftermath: Aftermath = { ledger, server: server(), replicas, administrator, send, deletionsBegun }
  await expectNothingLost(aftermath)
  await expectAgreement(aftermath)
  expect(ledger.wrongs).toEqual([])
  // At once by each of the verifiers, and some again later.
  expect(verifier.verifications + verifier.late).toBeGreaterThanOrEqual(replicas.all.length * ledger.tokens)
  expect(verifier.verifications).toBeGreaterThan(verifier.late)
  expect(watch.looks()).toBeGreaterThan(0)
  for (const [index, size] of (await memoryOf(replicas)).entries()) {
    expect(size - (memoryBefore[index] ?? 0)).toBeLessThan(MAX_GROWTH)
  }
  await expectCleanEnd(replicas)
  return ledger
}

function memoryOf(replicas: Replicas): Promise<number[]> {
  return Promise.all(replicas.all.map((replica) => replica.heldMebibytes()))
}

async function expectCleanEnd({ all }: Replicas): Promise<void> {
  expect(all.flatMap(({ unexpectedExits }) => unexpectedExits)).toEqual([])
  expect(await Promise.all(all.map((replica) => replica.stop()))).toEqual(all.map(() => 0))
  const lines = all.flatMap(({ output }) => output.split('\n'))
  expect(lines.filter((line) => line.includes('"level":"error"') || line.includes('"level":"fatal"'))).toEqual([])
}
