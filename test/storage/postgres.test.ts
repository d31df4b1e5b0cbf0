import { afterAll, beforeAll } from '@jest/globals'
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { createRecordingLog } from '../support/log.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { describeStore } from './store-contract.ts'

let postgres: TestPostgres | undefined

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres?.stop()
})

describeStore('PostgreSQL', async () =>
  openDatabase({ url: await postgres!.createDatabase(), log: createRecordingLog() }),
)
