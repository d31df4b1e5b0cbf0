import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { changeIssuer, settleIssuer } from '../../../src/app/replica/issuer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createIssuerStore } from '../../../src/storage/instance/issuer-store.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { createRecordingLog, type RecordingLog } from '../../support/log.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'

const FIRST = 'https://id.example.com'
const SECOND = 'https://tokens.example.com'

describe('the issuer of an instance', () => {
  let database: Database
  let log: RecordingLog
  beforeAll(async () => {
    database = openDatabase({ url: await newPostgresDatabase(), log: createRecordingLog() })
    await migrate(database)
  })
  beforeEach(async () => {
    log = createRecordingLog()
    await sql`update instance set issuer = null`.execute(database.db)
    await sql`delete from audit_events`.execute(database.db)
  })
  afterAll(() => database.close())

  const settle = (issuer: string, followsPort = false) =>
    settleIssuer({ store: createIssuerStore(database), issuer, followsPort, log })
  const stored = async () => (await createInstanceReader(database, TEST_MACS).status()).issuer
  const events = async () =>
    (await database.db.selectFrom('audit_events').select(['actor', 'action', 'resource']).execute()).map((event) =>
      Object.values(event).join(' '),
    )

  it('is stored by the first server that starts on it, with an audit event, and only once', async () => {
    expect(await stored()).toBeNull()
    await settle(FIRST)
    await settle(FIRST)
    expect(await stored()).toBe(FIRST)
    expect(await events()).toEqual([`system issuer/store issuers/${FIRST}`])
    expect(log.lines).toEqual([])
  })

  it('is one also when two servers of different base URLs start at the same time', async () => {
    const outcomes = await Promise.allSettled([settle(FIRST), settle(SECOND)])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('stops a server of another base URL, and says both and what to do', async () => {
    await settle(FIRST)
    for (const followsPort of [false, true]) {
      await expect(settle(SECOND, followsPort)).rejects.toThrow(
        `the issuer of this instance is ${FIRST}, and the base URL of this server is ${SECOND}: start it with ` +
          `KEYTURN_BASE_URL=${FIRST}, or change the issuer on purpose with "keyturn issuer change ${SECOND}"`,
      )
    }
    expect(await stored()).toBe(FIRST)
  })

  it('moves with the port where there is one server, whose base URL was never configured', async () => {
    await settle('http://localhost:8080', true)
    await expect(settle('http://localhost:9090', false)).rejects.toThrow('the issuer of this instance is')
    await settle('http://localhost:9090', true)
    expect(await stored()).toBe('http://localhost:9090')
    expect(log.lines).toEqual([expect.stringMatching(/^warn the issuer has moved with the port/)])
  })

  it('is changed on purpose, with an audit event', async () => {
    await settle(FIRST)
    expect(await changeIssuer(createIssuerStore(database), SECOND)).toBe(FIRST)
    expect(await changeIssuer(createIssuerStore(database), SECOND)).toBe(SECOND)
    expect(await events()).toEqual([`system issuer/store issuers/${FIRST}`, `system issuer/change issuers/${SECOND}`])
    await settle(SECOND)
    await expect(settle(FIRST)).rejects.toThrow(`the issuer of this instance is ${SECOND}`)
  })
})
