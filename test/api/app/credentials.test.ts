/**
 * Credentials that are made while the newest change is dated ahead of the clock of the database, as after a clock that was ahead
 * for a while and is right again: what ends by the clock is compared with the clock.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { Credentials } from '../../../src/app/identities/credentials.ts'
import type { Actor } from '../../../src/domain/identities/authority.ts'
import { WHOLE_INSTANCE } from '../../../src/domain/identities/reach.ts'
import type { ServiceUser } from '../../../src/domain/identities/service-user.ts'
import type { IdentityStore } from '../../../src/domain/ports/identities.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { migrate } from '../../../src/storage/migrations/migrate.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/database.ts'
import { anAuditEntry } from '../../support/audit-entry.ts'
import { identityOperations } from '../../support/identity-operations.ts'
import { TEST_INTEGRITY, TEST_MACS } from '../../support/integrity.ts'
import { createRecordingLog } from '../../support/log.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { seedProject, seedUser } from '../../support/seed.ts'

const HOUR = 3_600_000

let database: Database
let store: IdentityStore
let credentials: Credentials
let actor: Actor
let userId: string
let millis = 0
beforeAll(async () => {
  database = openDatabase({ url: await newPostgresDatabase(), log: createRecordingLog() })
  await migrate(database)
  store = createIdentityStore(database, TEST_MACS)
  credentials = new Credentials({
    store,
    replica: { refreshAfterWrite: async () => {}, refreshOrLog: async () => {} },
    secrets: TEST_INTEGRITY.secrets,
    parseUserKeys: (json) => [JSON.parse(json)],
    maxTokenLifetimeDays: 1,
    newId: randomUUID,
    clock: { monotonic: () => millis },
  })
  const owner = await seedUser(database, { project: await seedProject(database), instanceRoles: ['IAM_OWNER'] })
  const tokenId = randomUUID()
  await identityOperations(database).addToken(owner.userId, tokenId, randomBytes(32))
  const credential = { kind: 'personal_access_token', tokenId, expiresAt: inHours(1) } as const
  const { userId } = owner
  const authority = { kind: 'user', userId, permission: 'iam.user.write', reach: WHOLE_INSTANCE, credential } as const
  actor = { ...anAuditEntry('test'), authority }
})
beforeEach(async () => {
  userId = (await seedUser(database, { project: await seedProject(database) })).userId
})
afterAll(() => database?.close())

const inHours = (hours: number) => new Date(Date.now() + hours * HOUR)

/** As if a change had been dated by a clock that was so far ahead. */
async function dateChangesAhead(hours: number): Promise<void> {
  await sql`update instance set changed_at = clock_timestamp() + ${hours} * interval '1 hour'`.execute(database.db)
}

const user = async (): Promise<ServiceUser> => (await store.findUser(userId))!

/** How far ahead of the clock something was dated, in whole hours. */
const hoursAhead = ({ createdAt }: { readonly createdAt: Date }) => Math.round((Number(createdAt) - Date.now()) / HOUR)

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  )

/** A user who changes itself, with a secret that works. */
async function newSelf(): Promise<{ readonly actor: Actor; readonly userId: string }> {
  const { userId } = await seedUser(database, { project: await seedProject(database) })
  await credentials.generateSecret(actor, userId, null)
  const tokenId = randomUUID()
  await identityOperations(database).addToken(userId, tokenId, randomBytes(32))
  const credential = { kind: 'personal_access_token', tokenId, expiresAt: inHours(1) } as const
  const reach = { kind: 'limited', projectIds: new Set<string>(), userId } as const
  const authority = { kind: 'user', userId, permission: 'iam.user.secret.write', reach, credential } as const
  return { actor: { ...anAuditEntry('test'), authority }, userId }
}

describe('a user who changes its own secrets', () => {
  const generateAndDelete = async (self: { readonly actor: Actor; readonly userId: string }) => {
    const { secret } = await credentials.generateSecret(self.actor, self.userId, null)
    await credentials.deleteSecret(self.actor, self.userId, secret.secretId)
  }

  it('makes 30 changes at once and then one in 20 seconds, and holds up neither other users nor an administrator', async () => {
    const [self, other] = [await newSelf(), await newSelf()]
    for (let times = 0; times < 15; times += 1) await generateAndDelete(self)
    const generate = () => credentials.generateSecret(self.actor, self.userId, null)
    await expect(generate()).rejects.toMatchObject({
      code: 'self_service_limit_reached',
      metadata: { retry_after_seconds: '20' },
    })
    await generateAndDelete(other)
    await credentials.generateSecret(actor, self.userId, null)
    millis += 20_000
    await generate()
    expect(await codeOf(generate())).toBe('self_service_limit_reached')
  })
})

describe('while the newest change is dated 23 hours ahead of the clock', () => {
  it('a personal access token may end before that, and takes the place of none that works', async () => {
    const { token: first } = await credentials.createToken(actor, userId, inHours(20))
    await dateChangesAhead(23)
    const { token: second } = await credentials.createToken(actor, userId, inHours(12))
    expect((await user()).personalAccessTokens.map(({ tokenId }) => tokenId).sort()).toEqual(
      [first.tokenId, second.tokenId].sort(),
    )
    expect(hoursAhead(second)).toBe(23)
  })
})
