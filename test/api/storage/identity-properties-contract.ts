/**
 * The part of the contract about `IdentityStore` that holds for any change: what is read back is what was decided.
 */
import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { UserCredential } from '../../../src/domain/identities/credential.ts'
import { INSTANCE_ROLE_NAMES, PROJECT_MEMBER_ROLE_NAMES } from '../../../src/domain/identities/permission.ts'
import { createProject } from '../../../src/domain/identities/project.ts'
import { createServiceUser, type ServiceUser } from '../../../src/domain/identities/service-user.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { seedProject, seedUser } from '../../support/seed.ts'

const uuid = (number: number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`
const PROJECT_ID = uuid(1)
const OTHER_PROJECT_ID = uuid(2)
const USER_ID = uuid(3)

/** Everything that has to be quoted somewhere, and names that locales order differently. */
const NAMES = ['a', 'B', 'b', 'a-b', 'ab', '"', "'", '\\', '{}', 'a,b', 'null', '%', 'é', '$1', '\n', '😀']
const SCOPES = ['a', 'B', 'b', 'a-b', "'", '{}', 'a,b', 'NULL', '%', '$1']
const CREATED_AT = new Date('2024-01-01T00:00:00.001Z')

const subset = <T>(items: readonly T[]) => fc.subarray([...items])
const sorted = (names: fc.Arbitrary<string[]>) => names.map((list) => list.toSorted())
const laterDate = fc.date({ min: new Date('2024-02-01'), max: new Date('2999-01-01'), noInvalidDate: true })
const hash = (text: string) => new Uint8Array(createHash('sha256').update(text).digest())

const KINDS: readonly fc.Arbitrary<object>[] = [
  fc.record({ kind: fc.constant('client_secret'), lastUsedAt: fc.constant(null) }),
  fc.record({
    kind: fc.constant('user_key'),
    publicJwk: fc.record(
      { kty: fc.constant('OKP' as const), crv: fc.constant('Ed25519' as const), x: fc.constant('x'), kid: fc.string() },
      { requiredKeys: ['kty', 'crv', 'x'], noNullPrototype: true },
    ),
  }),
  fc.record({ kind: fc.constant('personal_access_token') }),
  fc.record({
    kind: fc.constant('client_certificate'),
    match: fc.constantFrom('subject_dn', 'san_dns', 'san_uri', 'thumbprint'),
    value: fc.constantFrom('CN=a', 'ü'),
  }),
]
const HASHED = ['client_secret', 'personal_access_token']

/** Three of each kind. */
const credentials: fc.Arbitrary<readonly UserCredential[]> = fc.tuple(
  ...KINDS.flatMap((facts, kind) =>
    [0, 1, 2].map((index) =>
      fc.tuple(facts, laterDate, fc.boolean()).map(([more, expiresAt, expires]) => {
        const credentialId = uuid(16 * (kind + 1) + index)
        const isHashed = 'kind' in more && HASHED.includes(String(more.kind))
        return {
          ...more,
          ...(isHashed ? { hash: hash(credentialId) } : {}),
          credentialId,
          createdAt: CREATED_AT,
          expiresAt: expires || kind === 2 ? expiresAt : null,
        } as UserCredential
      }),
    ),
  ),
)

/** Some of them, which may be deactivated. */
const choice = fc.record({ indexes: subset([...Array(3 * KINDS.length).keys()]), deactivatedAt: fc.option(laterDate) })

const projectRoles = fc.tuple(sorted(subset(NAMES)), sorted(subset(NAMES))).map(([own, other]) => {
  const grants: [string, string[]][] = [
    [PROJECT_ID, own],
    [OTHER_PROJECT_ID, other],
  ]
  return new Map(grants.filter(([, roles]) => roles.length > 0))
})

/** What can change about a user. */
const userState = fc.record({
  name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((name) => !name.includes('\0')),
  enabled: fc.boolean(),
  clientCredentialsEnabled: fc.boolean(),
  boundTokensRequired: fc.boolean(),
  certificateBoundTokens: fc.boolean(),
  instanceRoles: subset(INSTANCE_ROLE_NAMES.toSorted()),
  managedProjects: fc
    .dictionary(fc.constantFrom(PROJECT_ID, OTHER_PROJECT_ID), fc.constantFrom(...PROJECT_MEMBER_ROLE_NAMES))
    .map((roles) => new Map(Object.entries(roles))),
  projectRoles,
  customScopes: sorted(subset(SCOPES)),
  choice,
  tokenLifetimeSeconds: fc.constantFrom(null, 60, 86_400),
  tokenClaims: fc.constantFrom(
    {},
    { tenant: 'a' },
    { 'https://example.com/level': 3, nested: { list: [1, null, 'ü'] } },
  ),
})

export function describeIdentityProperties(current: () => Database): void {
  const store = () => createIdentityStore(current(), TEST_MACS)
  const version = async () => (await createInstanceReader(current(), TEST_MACS).status()).version

  describe('any change', () => {
    it('of a service user is read back as it was decided', async () => {
      const project = { name: 'own', roles: NAMES, scopes: SCOPES }
      const owners = await seedProject(current())
      await seedUser(current(), { project: owners, instanceRoles: ['IAM_OWNER'] })
      for (const [projectId, facts] of [
        [PROJECT_ID, project],
        [OTHER_PROJECT_ID, { ...project, name: 'other' }],
      ] as const) {
        await store().changeProject(projectId, anEntry('create'), (_, now) => {
          return { next: { ...createProject(projectId, 'x', now), ...facts }, result: 0 }
        })
      }
      const changeTo = (state: Partial<ServiceUser>) =>
        store().changeUser(USER_ID, anEntry('change'), (user, { date }) => {
          const facts = {
            userId: USER_ID,
            name: 'robot',
            projectId: PROJECT_ID,
            projectName: 'own',
            clientCredentialsEnabled: true,
          }
          const next = { ...(user ?? createServiceUser(facts, date)), ...state }
          return { next, result: next }
        })
      const states = fc.array(userState, { minLength: 1, maxLength: 4 })
      const property = fc.asyncProperty(credentials, states, async (all, states) => {
        await current().db.deleteFrom('service_users').where('user_id', '=', USER_ID).execute()
        for (const { choice, ...facts } of states) {
          const chosen = choice.indexes.map((index) => all[index]!)
          const { deactivatedAt } = choice
          const state = {
            ...facts,
            credentials: chosen.map((each) => (each.kind === 'client_secret' ? { ...each, deactivatedAt } : each)),
          }
          const next = await changeTo(state)
          const found = await store().findUser(USER_ID)
          expect(found).toEqual({ ...next, tokensRevokedAt: found?.tokensRevokedAt })
          const before = await version()
          await changeTo(structuredClone(state))
          expect(await version()).toBe(before)
        }
      })
      await fc.assert(property, { numRuns: 12 })
    })
  })
}
