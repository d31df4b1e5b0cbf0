/**
 * `ROLLING_RESTARTS` restarts with each protocol, 3 by default: one of each replica.
 */
import { afterAll, beforeAll, expect } from '@jest/globals'
import { WITHOUT_HAPROXY } from '../support/haproxy.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { itUnless } from '../support/unless.ts'
import { restartInTurn } from './rolling-restarts.ts'

const RESTARTS = Number(process.env.ROLLING_RESTARTS ?? 3)

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres?.stop()
})

for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
  itUnless(WITHOUT_HAPROXY)(
    `${RESTARTS} rolling restarts of three replicas to which HAProxy speaks ${protocol} cost clients of HTTP/1.1 and HTTP/2 no request`,
    async () => {
      const databaseUrl = await postgres.createDatabase()
      const { answers, failures } = await restartInTurn({ restarts: RESTARTS, protocol, databaseUrl })
      process.stderr.write(`${JSON.stringify({ protocol, answers, failures: failures.length })}\n`)
      expect(failures).toEqual([])
    },
  )
}
