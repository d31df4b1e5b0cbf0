/**
 * PostgreSQL is away for longer than replicas may go on from memory.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'
import { type Replicas, startReplicas } from './replicas.ts'
import { playScenario, type Scene } from './scenario.ts'

const MAX_STALENESS_SECONDS = 3

let server: PostgresServer | undefined
let replicas: Replicas | undefined

beforeEach(async () => {
  server = await createPostgresServer()
})
afterEach(async () => {
  await replicas?.kill()
  await server?.destroy()
})

it('goes on from memory for as long as it may, then says that it cannot serve, and comes back by itself', async () => {
  const database = server!
  replicas = await startReplicas({
    databaseUrl: database.url(),
    env: { KEYTURN_MAX_STALENESS: String(MAX_STALENESS_SECONDS) },
  })
  const figures = await playScenario({
    name: `PostgreSQL is away for longer than KEYTURN_MAX_STALENESS (${MAX_STALENESS_SECONDS} s)`,
    replicas,
    server: () => database,
    fault: (scene) => outlastMemory(scene, database),
  })
  expect(figures.failures.unavailable).toBeGreaterThan(0)
})

async function outlastMemory(scene: Scene, database: PostgresServer): Promise<void> {
  const { ledger, replicas, administrator, send } = scene
  const failures = ledger.tokenFailures
  await delay(1000)

  ledger.fault('PostgreSQL is stopped')
  const stoppedAt = performance.now()
  await database.stop('immediate')
  expect(failures.unavailable).toBe(0)
  for (const replica of replicas.all) {
    const outcome = await administrator.call(replica, 'iam.webkey.v2beta.WebKeyService/CreateWebKey', {
      config: { ed25519: {} },
    })
    expect(outcome).toEqual({ kind: 'unavailable', certain: false })
  }

  // Whoever gets a token now gets it from memory.
  await eventually(() => expect(ledger.tokenTimes.at(-1)).toBeGreaterThan(stoppedAt + 500))
  for (const replica of replicas.all) {
    await eventually(async () => {
      const { status, body } = await send(`${replica.url}/readyz`)
      expect({ status, body: JSON.parse(body) }).toEqual({
        status: 503,
        body: { status: 'not ready', reason: expect.stringContaining('database') },
      })
    })
    const token = await send(`${replica.url}/oauth/v2/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials&client_id=somebody&client_secret=something',
    })
    expect(token).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } })
    expect(JSON.parse(token.body)).toMatchObject({ error: 'temporarily_unavailable' })
    expect(await send(`${replica.url}/.well-known/openid-configuration/jwks`)).toMatchObject({ status: 503 })
    expect(await send(`${replica.url}/healthz`)).toMatchObject({ status: 200 })
  }
  await delay(1000)

  ledger.fault('PostgreSQL is started')
  await database.start()
}
