import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { UserCache } from '../../../../src/app/identities/user-cache.ts'
import { createServiceUser, projectsOf, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'

const CAPACITY = 4
const userId = fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e', 'f')
const projectId = fc.constantFrom<string[]>('shop', 'bank', 'zoo', 'port')

const user = fc
  .record({
    userId,
    projectId,
    granted: fc.uniqueArray(projectId, { maxLength: 1 }),
    managed: fc.uniqueArray(projectId, { maxLength: 1 }),
  })
  .map(({ granted, managed, ...ids }): ServiceUser => {
    const facts = { ...ids, name: ids.userId, projectName: ids.projectId, clientCredentialsEnabled: true }
    return {
      ...createServiceUser(facts, new Date(0)),
      projectRoles: new Map(granted.map((id) => [id, ['seller']])),
      managedProjects: new Map(managed.map((id) => [id, 'PROJECT_OWNER'])),
    }
  })

interface Step {
  readonly kind: 'set' | 'update' | 'get' | 'delete'
  readonly user: ServiceUser
}

const step: fc.Arbitrary<Step> = fc.record({ kind: fc.constantFrom('set', 'update', 'get', 'delete'), user })

/** Users in the order of their use, the one used last at the end: as simple as can be. */
class Model {
  users: ServiceUser[] = []

  apply({ kind, user }: Step): void {
    const known = this.users.find(({ userId }) => userId === user.userId)
    const others = this.users.filter((each) => each !== known)
    if (kind === 'set') this.users = [...others, user].slice(-CAPACITY)
    else if (kind === 'update') this.users = this.users.map((each) => (each === known ? user : each))
    else if (kind === 'delete') this.users = others
    else if (known !== undefined) this.users = [...others, known]
  }
}

function apply(cache: UserCache, { kind, user }: Step): void {
  if (kind === 'get' || kind === 'delete') cache[kind](user.userId)
  else cache[kind](user)
}

describe('the cache of users', () => {
  it('finds those whom a change may concern, and those used last among them, as looking through all of them would', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 40 }),
        fc.record({
          userIds: fc.uniqueArray(userId, { maxLength: 2 }),
          projectIds: fc.uniqueArray(projectId, { maxLength: 2 }),
        }),
        (steps, { userIds, projectIds }) => {
          const cache = new UserCache(CAPACITY)
          const model = new Model()
          for (const change of steps) {
            apply(cache, change)
            model.apply(change)
          }
          const concerned = model.users.filter(
            (known) => userIds.includes(known.userId) || projectsOf(known).some((id) => projectIds.includes(id)),
          )
          const wanted = concerned.map((known) => known.userId)
          const changes = {
            kind: 'some',
            userIds: new Set(userIds),
            projectIds: new Set(projectIds),
            subjects: [],
          } as const
          expect([...cache.changedBy(changes)].sort()).toEqual([...wanted].sort())
          expect([...cache.changedBy(changes, 2)].sort()).toEqual(wanted.slice(-2).sort())
          const all = model.users.map((known) => known.userId).reverse()
          expect(cache.changedBy({ kind: 'any' })).toEqual(all)
          expect(cache.changedBy({ kind: 'any' }, 2)).toEqual(all.slice(0, 2))
          expect(cache.size).toBe(model.users.length)
          for (const known of model.users) expect(cache.get(known.userId)).toEqual(known)
        },
      ),
      { numRuns: 1000 },
    )
  })
})
