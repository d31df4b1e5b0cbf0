/**
 * The part of the contract about the right to a change, which every store that changes the instance checks under its lock.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { addLink } from '../../../src/domain/console/sign-ins.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Credential, UserAuthority } from '../../../src/domain/identities/authority.ts'
import type { InstanceRole, Permission, ProjectMemberRole } from '../../../src/domain/identities/permission.ts'
import { createProject } from '../../../src/domain/identities/project.ts'
import { type Reach, WHOLE_INSTANCE } from '../../../src/domain/identities/reach.ts'
import { planCreation } from '../../../src/domain/keys/key-ring.ts'
import type { OwnEntry } from '../../../src/domain/ports/console.ts'
import { createConsoleStore } from '../../../src/storage/console/console-store.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import { createSealedKeyStore } from '../../../src/storage/keys/sealed-key-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { seedSession } from '../../support/console-seed.ts'
import { TEST_INTEGRITY, TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'
import { change, seedProject, seedUser } from '../../support/seed.ts'

const HOUR = 3_600_000
const PERMISSION: Permission = 'iam.user.write'
const NOTHING: Reach = { kind: 'limited', projectIds: new Set(), userId: null }

/** Makes one change that would change something, with this entry. Says with `onDecide` that the decision was asked. */
type Changing = (database: Database, entry: OwnEntry, onDecide: () => void) => Promise<() => Promise<unknown>>

/** Each method that changes the instance, on a target that it makes first. */
const METHODS: Readonly<Record<string, Changing>> = {
  'KeyStore.update': async (database, entry, onDecide) => () =>
    createKeyStore(database, TEST_MACS).update(entry, (ring, now) => {
      onDecide()
      return planCreation(ring, newKeyPair(), { now, maxWebKeys: 50 })
    }),

  'SealedKeyStore.replace': async (database, entry) => {
    await keyOperations(database).create()
    const store = createSealedKeyStore(database)
    const [key] = await store.list()
    return () => store.replace(key!, 'sealed anew', entry)
  },

  'IdentityStore.changeProject': async (database, entry, onDecide) => () => {
    const projectId = randomUUID()
    return createIdentityStore(database, TEST_MACS).changeProject(projectId, entry, (_none, now) => {
      onDecide()
      return { next: createProject(projectId, 'billing', now), result: undefined }
    })
  },

  'IdentityStore.changeUser': async (database, entry, onDecide) => {
    const { userId } = await seedUser(database, { project: await seedProject(database) })
    return () =>
      createIdentityStore(database, TEST_MACS).changeUser(userId, entry, (user) => {
        onDecide()
        return { next: { ...user!, name: 'renamed' }, result: undefined }
      })
  },

  'ConsoleStore.change': async (database, entry, onDecide) => {
    const { hash } = TEST_INTEGRITY.secrets.signInCodes.generate()
    return () =>
      createConsoleStore(database, TEST_INTEGRITY.publicKeys).change(entry, (signIns, clock) => {
        onDecide()
        const origin = { kind: 'openid_provider' } as const
        return { ...addLink(signIns, { hash, origin }, clock), result: undefined }
      })
  },

  'ConsoleStore.endSession': async (database, entry) => {
    const { userId } = await seedUser(database, { project: await seedProject(database) })
    const age = { created: 0, expires: 3600, lastUse: 0 }
    const { sessionId } = await seedSession({ database, integrity: TEST_INTEGRITY }, userId, age)
    return () => createConsoleStore(database, TEST_INTEGRITY.publicKeys).endSession(entry, sessionId)
  },
}

const OTHER_METHODS = Object.keys(METHODS).slice(1)

/** What a caller has lost, and with what it had proved itself. */
interface Loss {
  readonly enabled?: boolean
  readonly instanceRoles?: readonly InstanceRole[]
  readonly managedProjects?: Readonly<Record<string, ProjectMemberRole>>
  readonly credential: (database: Database, userId: string) => Promise<Credential>
}

const accessToken = async (database: Database): Promise<Credential> => {
  const { keyId } = await keyOperations(database).create()
  return {
    kind: 'access_token',
    keyId,
    tokenId: 'jti',
    expiresAt: await fromNow(database, HOUR),
  }
}
const personalAccessToken = async (database: Database, userId: string): Promise<Credential> => {
  return seededToken(database, userId, HOUR)
}

const unusedSession = async (database: Database, userId: string): Promise<Credential> => {
  const origin = { kind: 'openid_provider' } as const
  const age = { created: -3600, expires: 3600, lastUse: -1801 }
  const { sessionId } = await seedSession({ database, integrity: TEST_INTEGRITY }, userId, { ...age, origin })
  return { kind: 'console_session', sessionId, origin }
}

const LOSSES: Readonly<Record<string, Loss & { readonly code: string }>> = {
  'enabled user': { enabled: false, credential: accessToken, code: 'token_invalid' },
  'time left for the access token': {
    credential: async (database) => ({ ...(await accessToken(database)), expiresAt: await fromNow(database, 0) }),
    code: 'token_invalid',
  },
  'use of the session for half an hour': {
    credential: unusedSession,
    code: 'console_session_invalid',
  },
}

export function describeAuthority(current: () => Database): void {
  describe('the right to a change', () => {
    it('leaves no audit event of a change that fails after the event was written', async () => {
      const entry = await entryOf(current(), { credential: personalAccessToken })
      const run = await METHODS['KeyStore.update']!(current(), entry, () => {})
      // There is no next version.
      await current().db.updateTable('instance').set({ version: sql<number>`9223372036854775807` }).execute()
      const before = await contentOf(current())
      await expect(run()).rejects.toThrow()
      expect(await contentOf(current())).toEqual(before)
    })

    it.each([
      ...Object.keys(LOSSES).map((loss) => ['KeyStore.update', loss]),
      ...OTHER_METHODS.map((method) => [method, 'enabled user']),
    ])('is checked by %s before anything is decided: no %s any more', async (method = '', name = '') => {
      const loss = LOSSES[name]!
      let decided = false
      const run = await METHODS[method]!(current(), await entryOf(current(), loss), () => {
        decided = true
      })
      const before = await contentOf(current())
      await expect(run()).rejects.toMatchObject({ code: loss.code })
      expect(decided).toBe(false)
      expect(await contentOf(current())).toEqual(before)
    })

    it('is checked also if nothing would change', async () => {
      const entry = await entryOf(current(), LOSSES['enabled user']!)
      const looking = createKeyStore(current(), TEST_MACS).update(entry, (ring) => ({ steps: [], result: ring }))
      await expect(looking).rejects.toMatchObject({ code: 'token_invalid' })
    })

    it('ends by the clock of the database, also while changes are dated ahead of it', async () => {
      const store = createKeyStore(current(), TEST_MACS)
      const look = (entry: OwnEntry) => store.update(entry, (ring) => ({ steps: [], result: ring }))
      const alive = await entryOf(current(), { credential: accessToken })
      const expired = await entryOf(current(), LOSSES['time left for the access token']!)
      // As after a change by a clock that was ahead and has been corrected since.
      const latestAt = await fromNow(current(), 2 * HOUR)
      await current().db.updateTable('instance').set({ changed_at: latestAt }).execute()
      expect(await look(alive)).toHaveLength(2)
      await expect(look(expired)).rejects.toMatchObject({ code: 'token_invalid' })
    })
  })

  describe.each([
    'KeyStore.update',
    'SealedKeyStore.replace',
    'IdentityStore.changeProject',
    'ConsoleStore.endSession',
  ])('a right over one project', (method) => {
    it(`is not enough for ${method}, which is about the instance or another user`, async () => {
      const { projectId } = await seedProject(current())
      const managedProjects = { [projectId]: 'PROJECT_OWNER' } as const
      const entry = await entryOf(current(), { instanceRoles: [], managedProjects, credential: personalAccessToken })
      const run = await METHODS[method]!(current(), entry, () => {})
      const before = await contentOf(current())
      await expect(run()).rejects.toMatchObject({ code: 'permission_missing' })
      expect(await contentOf(current())).toEqual(before)
    })
  })

  describe('a right that is not over the whole instance', () => {
    it('is refused what it does not reach while another change holds the lock', async () => {
      const entry = await entryOf(current(), { instanceRoles: [], credential: personalAccessToken })
      const authority = { ...entry.authority, permission: 'iam.user.secret.write', reach: NOTHING } as UserAuthority
      const { userId } = await seedUser(current(), { project: await seedProject(current()) })
      const seen: unknown[] = []
      await current()
        .db.transaction()
        .execute(async (trx) => {
          await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(trx)
          await trx.selectFrom('instance').selectAll().forUpdate().execute()
          const change = createIdentityStore(current(), TEST_MACS).changeUser(
            userId,
            { ...entry, authority },
            (user) => {
              seen.push(user)
              throw new DomainError('user_not_found', 'there is no such user')
            },
          )
          await expect(change).rejects.toMatchObject({ code: 'user_not_found' })
        })
      expect(seen).toEqual([undefined])
    })
  })
}

/** The entry of a caller who has, or has not, what the loss says. */
async function entryOf(database: Database, { credential, ...user }: Loss): Promise<OwnEntry> {
  const { enabled = true, instanceRoles = ['IAM_OWNER'], managedProjects = {} } = user
  const project = await seedProject(database)
  const { userId } = await seedUser(database, { project, enabled, instanceRoles, managedProjects })
  const authority = {
    userId,
    permission: PERMISSION,
    reach: WHOLE_INSTANCE,
    credential: await credential(database, userId),
  }
  return { ...anEntry('change'), actor: userId, authority: { kind: 'user', ...authority } }
}

/** A personal access token of a user that expires so many milliseconds from now, by the clock of the database. */
async function seededToken(database: Database, userId: string, milliseconds: number): Promise<Credential> {
  const tokenId = randomUUID()
  const expiresAt = await fromNow(database, milliseconds)
  await change(database, async (trx) => {
    await trx
      .insertInto('credentials')
      .values({
        credential_id: tokenId,
        kind: 'personal_access_token',
        user_id: userId,
        hash: new Uint8Array(randomBytes(32)),
        creation_date: new Date(expiresAt.getTime() - HOUR),
        expiration_date: expiresAt,
      })
      .execute()
  })
  return { kind: 'personal_access_token', tokenId, expiresAt }
}

/** So many milliseconds from now, by the clock of the database. */
async function fromNow({ db }: Database, milliseconds: number): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return new Date(rows[0]!.now.getTime() + milliseconds)
}

/** Everything that a change could write, and whose the changes were so far. */
async function contentOf({ db }: Database) {
  const { version } = await db.selectFrom('instance').select('version').executeTakeFirstOrThrow()
  return {
    version: Number(version),
    events: (await db.selectFrom('audit_events').select('actor').execute()).map(({ actor }) => actor).sort(),
    keys: await db.selectFrom('web_keys').selectAll().orderBy('key_id').execute(),
    projects: await db.selectFrom('projects').selectAll().orderBy('project_id').execute(),
    users: await db.selectFrom('service_users').selectAll().orderBy('user_id').execute(),
  }
}
