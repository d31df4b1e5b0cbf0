/**
 * The whole contract of the storage, behind pgbouncer in transaction mode and on an older server. Both at once, because the contract
 * takes a while.
 */
import { afterAll, beforeAll } from '@jest/globals'
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { describeStore } from '../api/storage/store-contract.ts'
import { createRecordingLog } from '../support/log.ts'
import { type PgBouncer, startPgBouncer, WITHOUT_PGBOUNCER } from '../support/pgbouncer.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { WITHOUT_DEBIAN_POSTGRES } from '../support/postgres-programs.ts'
import { describeUnless } from '../support/unless.ts'

const SERVER = WITHOUT_DEBIAN_POSTGRES === undefined ? 'debian' : 'npm'

describeUnless(WITHOUT_PGBOUNCER)('pgbouncer in transaction mode', () => {
  let postgres: TestPostgres | undefined
  const bouncers: PgBouncer[] = []

  beforeAll(async () => {
    postgres = await startPostgres({ version: SERVER })
  })
  afterAll(async () => {
    for (const bouncer of bouncers) await bouncer.stop()
    await postgres?.stop()
  })

  const open = async () => {
    const bouncer = await startPgBouncer(await postgres!.createDatabase())
    bouncers.push(bouncer)
    return openDatabase({ url: bouncer.url, log: createRecordingLog(), changeFeed: 'poll' })
  }
  describeStore(`pgbouncer and PostgreSQL from ${SERVER}`, open, { sequences: 25, changes: 60 })
})
