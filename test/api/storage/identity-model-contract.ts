/**
 * The part of the contract about whole histories: after any sequence of administrative operations each user has the
 * access of a simple model, so deleted rows leave no access behind.
 *
 * There are few ids and names, so that things are often deleted and made again under the same ones.
 */
import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { LiveIdentities } from '../../../src/app/identities/live-identities.ts'
import type { Revision } from '../../../src/domain/changes.ts'
import { credentialsOf, liveCredentials } from '../../../src/domain/identities/credential.ts'
import type { ServiceUser } from '../../../src/domain/identities/service-user.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { change } from '../../support/seed.ts'
import { createIdentityModel, type ModelAccess, type Outcome } from './identity-model.ts'
import { identityOperations } from './identity-operations.ts'

const MAX_OPERATIONS = 50
const IDS = 3

const NAMES = ['red', 'green', 'blue'] as const
const PROJECTS = idsFrom(0x10)
const USERS = idsFrom(0x20)

const project = fc.constantFrom(...PROJECTS)
const user = fc.constantFrom(...USERS)
/** Which secret or token of a user; each user has its own ids. */
const credential = fc.nat(1)
const name = fc.constantFrom(...NAMES)
const flag = fc.boolean()

const operations = fc.oneof(
  fc.record({ kind: fc.constant('createProject' as const), project, name }),
  fc.record({ kind: fc.constant('createProject' as const), project, name }),
  fc.record({ kind: fc.constant('renameProject' as const), project, name }),
  fc.record({ kind: fc.constant('deleteProject' as const), project }),
  fc.record({ kind: fc.constantFrom('addRole', 'addRole', 'removeRole', 'addScope', 'removeScope'), project, name }),
  fc.record({ kind: fc.constant('createUser' as const), user, project }),
  fc.record({ kind: fc.constant('createUser' as const), user, project }),
  fc.record({ kind: fc.constant('deleteUser' as const), user }),
  fc.record({ kind: fc.constantFrom('setEnabled', 'setOwner'), user, flag }),
  fc.record({ kind: fc.constantFrom('grantRole', 'grantRole', 'revokeRole'), user, project, name }),
  fc.record({ kind: fc.constantFrom('grantScope', 'grantScope', 'revokeScope'), user, name }),
  fc.record({ kind: fc.constantFrom('addSecret', 'deactivateSecret', 'deleteSecret'), user, credential }),
  fc.record({ kind: fc.constantFrom('addToken', 'revokeToken'), user, credential }),
)

const histories = fc
  .array(operations, { minLength: MAX_OPERATIONS / 2, maxLength: MAX_OPERATIONS, size: 'max' })
  .map((sequence) => [...BEGINNING, ...sequence])

type Operation = typeof operations extends fc.Arbitrary<infer T> ? T : never

/** A user in each project, with a role of the first one; two owners, one disabled. It makes it likely that
 * operations find something. */
const BEGINNING: readonly Operation[] = PROJECTS.flatMap((id, index): Operation[] => {
  const [own, first] = [USERS[index] ?? '', PROJECTS[0] ?? '']
  return [
    { kind: 'createProject', project: id, name: NAMES[index] ?? 'red' },
    { kind: 'addRole', project: id, name: 'red' },
    { kind: 'addScope', project: id, name: 'red' },
    { kind: 'createUser', user: own, project: id },
    { kind: 'grantRole', user: own, project: first, name: 'red' },
    { kind: 'grantScope', user: own, name: 'red' },
  ]
}).concat(
  { kind: 'setOwner', user: USERS[0] ?? '', flag: true },
  { kind: 'setOwner', user: USERS[1] ?? '', flag: true },
  { kind: 'setEnabled', user: USERS[1] ?? '', flag: false },
)

export function describeIdentityModel(current: () => Database): void {
  describe('any sequence of administrative operations', () => {
    it('leaves each user with the access of a simple model, and nothing of deleted ones', async () => {
      const property = fc.asyncProperty(histories, async (sequence) => {
        const { db } = current()
        for (const table of ['service_users', 'projects', 'audit_events'] as const) await db.deleteFrom(table).execute()
        const model = createIdentityModel()
        const memory = await replicaOf(current())
        const { version: start } = await stateOf(current())
        let changes = 0
        for (const operation of sequence) {
          if (isRepeatedCredential(operation, model.access())) continue
          const expected = runOnModel(model, operation)
          const refusal = await refusalOf(runOnStore(current(), operation))
          const { version, access } = await stateOf(current())
          const outcome = refusal ?? (version > start + changes ? 'changed' : 'unchanged')
          expect([operation, outcome]).toEqual([operation, expected])
          expect(access).toEqual(model.access())
          expect(await memory.access()).toEqual(access)
          if (outcome === 'changed') changes += 1
          // Each change is one version, and nothing else is.
          expect(version).toBe(start + changes)
        }
        expect(await db.selectFrom('audit_events').select('event_id').execute()).toHaveLength(changes)
        await expectTokensToFind(current(), model.access())
      })
      await fc.assert(property, { numRuns: 3 })
    })
  })
}

async function refusalOf(running: Promise<unknown>): Promise<Outcome | undefined> {
  try {
    await running
    return undefined
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

/** Ids of credentials are random, so none is added twice. */
function isRepeatedCredential(operation: Operation, access: ReadonlyMap<string, ModelAccess>): boolean {
  if (operation.kind !== 'addSecret' && operation.kind !== 'addToken') return false
  const id = credentialId(operation)
  const has = access.get(operation.user)
  return has !== undefined && (has.secrets.includes(id) || has.tokens.includes(id))
}

function runOnModel(model: ReturnType<typeof createIdentityModel>, operation: Operation): Outcome {
  switch (operation.kind) {
    case 'createProject':
    case 'renameProject':
    case 'addRole':
    case 'removeRole':
    case 'addScope':
    case 'removeScope':
      return model[operation.kind](operation.project, operation.name)
    case 'deleteProject':
      return model.deleteProject(operation.project)
    case 'createUser':
      return model.createUser(operation.user, operation.project)
    case 'deleteUser':
      return model.deleteUser(operation.user)
    case 'setEnabled':
    case 'setOwner':
      return model[operation.kind](operation.user, operation.flag)
    case 'grantRole':
    case 'revokeRole':
      return model[operation.kind](operation.user, operation.project, operation.name)
    case 'grantScope':
    case 'revokeScope':
      return model[operation.kind](operation.user, operation.name)
    case 'addSecret':
    case 'deactivateSecret':
    case 'deleteSecret':
    case 'addToken':
    case 'revokeToken':
      return model[operation.kind](operation.user, credentialId(operation))
  }
}

async function runOnStore(database: Database, operation: Operation): Promise<unknown> {
  const run = identityOperations(database)
  switch (operation.kind) {
    case 'createProject':
    case 'renameProject':
    case 'addRole':
    case 'removeRole':
    case 'addScope':
    case 'removeScope':
      return await run[operation.kind](operation.project, operation.name)
    case 'deleteProject':
      return await run.deleteProject(operation.project)
    case 'createUser':
      return await run.createUser(operation.user, operation.project)
    case 'deleteUser':
      return await run.deleteUser(operation.user)
    case 'setEnabled':
      return await run.setEnabled(operation.user, operation.flag)
    case 'setOwner':
      return await run.setInstanceRoles(operation.user, operation.flag ? ['IAM_OWNER'] : [])
    case 'grantRole':
    case 'revokeRole':
      return await run[operation.kind](operation.user, operation.project, operation.name)
    case 'grantScope':
    case 'revokeScope':
      return await run[operation.kind](operation.user, operation.name)
    case 'addSecret':
    case 'addToken':
      return await run[operation.kind](operation.user, credentialId(operation), hashOf(credentialId(operation)))
    case 'deactivateSecret':
    case 'deleteSecret':
    case 'revokeToken':
      return await run[operation.kind](operation.user, credentialId(operation))
  }
}

/** What a replica finds. */
async function stateOf(database: Database) {
  const { version, users } = await createInstanceReader(database, TEST_MACS).load({ userIds: USERS })
  return { version, access: new Map([...users].map(([id, found]) => [id, accessOf(found)])) }
}

const FRESH = { isFresh: () => true, assertFresh: () => {}, assertReadable: () => {} }

/** A replica that has all users in memory, and reads those again of which the database says that they may have changed. */
async function replicaOf(database: Database) {
  const reader = createInstanceReader(database, TEST_MACS)
  await change(database, async () => {})
  const identities = new LiveIdentities({ reader, guard: FRESH })
  let revision: Revision = await reader.status()
  return {
    access: async () => {
      const state = await reader.loadSince(revision, (changes) => ({ userIds: identities.idsToRead(changes) }))
      expect(state.changes.kind).toBe('some')
      identities.replace(state)
      revision = state
      const users = await Promise.all(USERS.map((userId) => identities.find(userId)))
      return new Map(users.flatMap((user) => (user === undefined ? [] : [[user.userId, accessOf(user)]])))
    },
  }
}

/** Tries every personal access token that there can ever have been. */
async function expectTokensToFind(database: Database, access: ReadonlyMap<string, ModelAccess>): Promise<void> {
  const store = createIdentityStore(database, TEST_MACS)
  for (const userId of USERS) {
    for (const index of [0, 1]) {
      const tokenId = credentialId({ user: userId, credential: index })
      const found = await store.findUserByPersonalAccessToken(hashOf(tokenId))
      expect(found?.userId).toBe(access.get(userId)?.tokens.includes(tokenId) === true ? userId : undefined)
    }
  }
}

function accessOf(found: ServiceUser): ModelAccess {
  const farFuture = new Date('2500-01-01')
  return {
    enabled: found.enabled,
    owner: found.instanceRoles.includes('IAM_OWNER'),
    roles: [...found.projectRoles].flatMap(([id, roles]) => roles.map((role) => `${id}/${role}`)).sort(),
    scopes: found.customScopes,
    secrets: idsOf(credentialsOf(found, 'client_secret')),
    liveSecrets: idsOf(liveCredentials(found, 'client_secret', farFuture)),
    tokens: idsOf(credentialsOf(found, 'personal_access_token')),
  }
}

function idsOf(credentials: readonly { readonly credentialId: string }[]): string[] {
  return credentials.map(({ credentialId }) => credentialId).sort()
}

function credentialId(operation: { readonly user: string; readonly credential: number }): string {
  return operation.user.replace(/^0/, `${operation.credential + 1}`)
}

function hashOf(text: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(text).digest())
}

function idsFrom(first: number): string[] {
  return Array.from({ length: IDS }, (_, index) => `00000000-0000-4000-8000-0000000000${(first + index).toString(16)}`)
}
