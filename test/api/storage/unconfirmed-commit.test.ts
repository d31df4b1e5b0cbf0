/**
 * A change whose commit the database did not confirm: it may be stored or not, and must not count as rolled back.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { StorageRefusal } from '../../../src/domain/errors.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { isTransient } from '../../../src/storage/postgres/storage-errors.ts'
import { eventually } from '../../support/eventually.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { createRecordingLog } from '../../support/log.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { type StatementProxy, startStatementProxy } from '../../support/statement-proxy.ts'

const unknown = expect.objectContaining({ name: 'DomainError', code: 'change_outcome_unknown' })
const unavailable = expect.objectContaining({ name: 'DomainError', code: 'storage_unavailable' })

let postgres: TestPostgres
let url: string
let proxy: StatementProxy
/** Through the proxy. */
let database: Database
let other: Database
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  postgres = sharedPostgres()
})
beforeEach(async () => {
  url = await postgres.createMigratedDatabase()
  proxy = await startStatementProxy(Number(new URL(url).port))
  cleanups.unshift(() => proxy.close())
  database = await open(url.replace(/:\d+\//, `:${proxy.port}/`))
  other = await open(url)
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})
afterAll(() => postgres?.stop())

async function open(address: string): Promise<Database> {
  const opened = await openDatabase({ url: address, log: createRecordingLog() })
  cleanups.unshift(() => opened.close())
  return opened
}

const ring = async () => (await keyOperations(other).look()).ring

const codeOf = (call: Promise<unknown>) => call.catch((error: unknown) => error)

/**
 * Makes a change and cuts its connections at the commit.
 *
 * @param make Takes the same statements each time. It is called once before.
 */
async function cutAtCommit(
  point: 'before' | 'after',
  make: () => Promise<unknown>,
  untilCommitted = async () => {},
): Promise<unknown> {
  const before = proxy.statements.length
  await make()
  expect(proxy.statements.at(-1)).toBe('commit')
  const reached = proxy.freezeAt(proxy.statements.length - before, point)
  const outcome = codeOf(make())
  await reached
  await untilCommitted()
  await proxy.close()
  return await outcome
}

/** Runs PL/pgSQL in the commit of each change that adds a web key. */
async function atCommit(statements: string): Promise<void> {
  await postgres.query(
    `create sequence attempts;
     create function at_commit() returns trigger language plpgsql as $$ begin ${statements} return null; end $$;
     create constraint trigger at_commit after insert on web_keys deferrable initially deferred
       for each row execute function at_commit()`,
    [],
    url,
  )
}

describe('a change whose commit is not answered', () => {
  it('has an unknown outcome, if it is stored', async () => {
    const create = () => keyOperations(database).create()
    const committed = () => eventually(async () => expect(await ring()).toHaveLength(2))
    const outcome = await cutAtCommit('after', create, async () => void (await committed()))
    expect(outcome).toEqual(unknown)
    // A start that is interrupted there tries again.
    expect(isTransient(outcome)).toBe(true)
  })

  it('has an unknown outcome, if it is not stored', async () => {
    expect(await cutAtCommit('before', () => keyOperations(database).create())).toEqual(unknown)
    expect(await ring()).toHaveLength(1)
  })

  it('can be repeated if it would have changed nothing', async () => {
    expect(await cutAtCommit('after', () => keyOperations(database).look())).toEqual(unavailable)
  })

  it('can be repeated if it is an observation of the system', async () => {
    const publish = async () => {
      await keyOperations(other).create()
      await createKeyStore(database, TEST_MACS).publish()
    }
    expect(await cutAtCommit('after', publish)).toEqual(unavailable)
  })
})

describe('a change whose commit fails', () => {
  it('is rolled back if PostgreSQL says so', async () => {
    await atCommit(`raise exception 'no';`)
    const outcome = await codeOf(keyOperations(database).create())
    expect(outcome).toEqual(unavailable)
    expect(outcome).toBeInstanceOf(StorageRefusal)
    expect(await ring()).toEqual([])
  })
})
