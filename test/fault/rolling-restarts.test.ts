/**
 * Twenty restarts, which take about a minute.
 */
import { afterAll, beforeAll, expect } from '@jest/globals'
import { WITHOUT_HAPROXY } from '../support/haproxy.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { itUnless } from '../support/unless.ts'
import { restartInTurn } from './rolling-restarts.ts'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres?.stop()
})

itUnless(WITHOUT_HAPROXY)(
  'twenty rolling restarts of three replicas behind HAProxy cost clients of HTTP/1.1 and HTTP/2 no request',
  async () => {
    const { answers, failures } = await restartInTurn(20, await postgres.createDatabase())
    process.stderr.write(`${JSON.stringify({ answers, failures: failures.length })}\n`)
    expect(failures).toEqual([])
  },
)
