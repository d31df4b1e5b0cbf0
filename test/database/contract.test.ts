/**
 * What Keyturn needs of a database, checked on a server that somebody has: `npm run test:database -- URL`.
 *
 * The URL must be allowed to make databases. Each part of the contract makes one of its own (`keyturn_contract_…`) and drops it.
 */
import { randomBytes } from 'node:crypto'
import { afterAll } from '@jest/globals'
import { type Database, openDatabase } from '../../src/storage/postgres/database.ts'
import { describeStore } from '../api/storage/store-contract.ts'
import { createRecordingLog } from '../support/log.ts'
import { queryOnce } from '../support/new-database.ts'

const { KEYTURN_TEST_DATABASE_URL: url = '', KEYTURN_CHANGE_FEED: feed } = process.env
if (url === '')
  throw new Error('give the URL of a database: npm run test:database -- postgres://user@host:5432/postgres')

const made: string[] = []

async function openEmpty(): Promise<Database> {
  const name = `keyturn_contract_${randomBytes(6).toString('hex')}`
  await queryOnce(url, `create database ${name}`, [])
  made.push(name)
  const own = new URL(url)
  own.pathname = `/${name}`
  return openDatabase({
    url: own.href,
    log: createRecordingLog(),
    ...(feed === 'poll' ? { changeFeed: feed } : {}),
  })
}

afterAll(async () => {
  for (const name of made) await queryOnce(url, `drop database if exists ${name}`, [])
})

describeStore(new URL(url).host, openEmpty)
