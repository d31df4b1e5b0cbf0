import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import {
  assertOwnerLeft,
  createServiceUser,
  existingUser,
  grantProjectRole,
  grantScope,
  revokeProjectRole,
  revokeScope,
  type ServiceUser,
} from '../../../../src/domain/identities/service-user.ts'

const user = createServiceUser(
  { userId: 'user-1', name: 'robot', projectId: 'project-1', projectName: 'billing', clientCredentialsEnabled: true },
  new Date(0),
)
const owner: ServiceUser = { ...user, instanceRoles: ['IAM_OWNER'] }

function codeOf(act: () => unknown): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return error instanceof DomainError ? error.code : String(error)
  }
}

describe('a service user', () => {
  it('begins enabled and with nothing', () => {
    expect(user).toMatchObject({ enabled: true, secrets: [], keys: [], instanceRoles: [], customScopes: [] })
    expect(user.projectRoles.size).toBe(0)
  })

  it('has roles of several projects, each once', () => {
    let current = user
    for (const [project, role] of [
      ['a', 'writer'],
      ['a', 'reader'],
      ['b', 'reader'],
      ['a', 'writer'],
    ] as const) {
      current = grantProjectRole(current, project, role)
    }
    expect([...current.projectRoles]).toEqual([
      ['a', ['reader', 'writer']],
      ['b', ['reader']],
    ])
    expect([...revokeProjectRole(current, 'b', 'reader').projectRoles.keys()]).toEqual(['a'])
    expect(revokeProjectRole(current, 'c', 'reader').projectRoles).toEqual(current.projectRoles)
    expect(user.projectRoles.size).toBe(0)
  })

  it('has custom scopes, each once', () => {
    const granted = grantScope(grantScope(grantScope(user, 'b'), 'a'), 'b')
    expect(granted.customScopes).toEqual(['a', 'b'])
    expect(revokeScope(granted, 'a').customScopes).toEqual(['b'])
  })

  it('must exist', () => {
    expect(existingUser(user, 'user-1')).toBe(user)
    expect(codeOf(() => existingUser(undefined, 'user-1'))).toBe('user_not_found')
  })
})

describe('the last enabled owner', () => {
  it.each<[string, ServiceUser | null]>([
    ['be deleted', null],
    ['be disabled', { ...owner, enabled: false }],
    ['lose the role', { ...owner, instanceRoles: ['IAM_OWNER_VIEWER'] }],
  ])('cannot %s, and one of two can', (_, after) => {
    expect(codeOf(() => assertOwnerLeft(owner, after, 0))).toBe('last_owner')
    expect(codeOf(() => assertOwnerLeft(owner, after, 1))).toBeUndefined()
  })

  it('can change in other ways', () => {
    expect(codeOf(() => assertOwnerLeft(owner, { ...owner, name: 'renamed' }, 0))).toBeUndefined()
  })

  it.each<[string, ServiceUser]>([
    ['no owner', user],
    ['an owner who is disabled', { ...owner, enabled: false }],
  ])('is not %s', (_, before) => {
    expect(codeOf(() => assertOwnerLeft(before, null, 0))).toBeUndefined()
  })
})
