/**
 * The clock of one machine is wrong by ten minutes. Its tokens and its decisions must be right all the same.
 *
 * The clock of a process is set with libfaketime, which leaves clocks that only count alone, as a wrong clock does.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { itUnless } from '../support/unless.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario, type Scene } from './scenario.ts'
import { generateSecret } from './service-users.ts'
import { askForToken } from './token-request.ts'

const LIBRARY = findLibrary()
const WITHOUT_LIBRARY = LIBRARY === undefined ? 'libfaketime is not installed' : undefined
const SECRET_LIFETIME_MILLIS = 4000
/** How far a corrected clock may be from the database's. */
const CLOCK_TOLERANCE_MILLIS = 1000

let server: PostgresServer | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  if (LIBRARY !== undefined) server = await createPostgresServer()
})
afterEach(async () => {
  await replicas?.kill()
  await server?.destroy()
})

const CLOCKS = [
  ['ten minutes ahead', '+600'],
  ['ten minutes behind', '-600'],
] as const

describe('a replica whose clock is wrong', () => {
  for (const [how, offset] of CLOCKS) {
    itUnless(WITHOUT_LIBRARY)(
      `by ${how} issues tokens with the right dates, and lets secrets expire when they do`,
      async () => {
        const database = server!
        const wrongClock = { LD_PRELOAD: LIBRARY!, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
        replicas = await startReplicas({ databaseUrl: database.url(), envOf: { b: wrongClock } })
        await playScenario({
          name: `The clock of one replica is ${how}`,
          replicas,
          server: () => database,
          fault: async (scene) => {
            scene.ledger.fault(`the clock of a replica is ${how}`)
            await expectWrongClock(scene, Number(offset))
            await expectSecretToExpire(scene)
          },
        })
      },
    )
  }
})

/** Node dates its answers by the clock of the machine, so they show that it is wrong indeed. */
async function expectWrongClock({ replicas, send }: Scene, offsetSeconds: number): Promise<void> {
  for (const replica of replicas.all) {
    const { headers } = await send(`${replica.url}/healthz`)
    const expected = replica === replicas.all[1] ? offsetSeconds : 0
    expect(Math.abs((Date.parse(headers.date ?? '') - Date.now()) / 1000 - expected)).toBeLessThan(60)
  }
}

async function expectSecretToExpire({ administrator, userId, replicas, send }: Scene): Promise<void> {
  const expiresAt = Date.now() + SECRET_LIFETIME_MILLIS
  const secret = await generateSecret(administrator, userId, new Date(expiresAt))
  for (const replica of replicas.all) {
    await eventually(async () => expect(await askForToken(send, replica, secret)).toMatchObject({ kind: 'issued' }))
  }
  await delay(Math.max(0, expiresAt + CLOCK_TOLERANCE_MILLIS - Date.now()))
  for (const replica of replicas.all) {
    expect(await askForToken(send, replica, secret)).toEqual({ kind: 'rejected' })
  }
}

function findLibrary(): string | undefined {
  const folders = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((name) => name.endsWith('-linux-gnu')) : []
  return folders
    .map((folder) => join('/usr/lib', folder, 'faketime/libfaketimeMT.so.1'))
    .find((path) => existsSync(path))
}
