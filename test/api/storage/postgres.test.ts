import { afterAll, beforeAll } from '@jest/globals'
import { openDatabase } from '../../../src/storage/postgres/database.ts'
import { createRecordingLog } from '../../support/log.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { describeStore } from './store-contract.ts'

let postgres: TestPostgres | undefined

beforeAll(async () => {
  postgres = sharedPostgres()
})
afterAll(async () => {
  await postgres?.stop()
})

describeStore('PostgreSQL', async () =>
  openDatabase({ url: await postgres!.createDatabase(), log: createRecordingLog() }),
)
