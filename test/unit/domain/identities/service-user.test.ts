import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import {
  assertOwnerLeft,
  createServiceUser,
  type ServiceUser,
  settleChange,
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

describe('the last enabled owner', () => {
  it.each<[string, ServiceUser | null]>([
    ['be deleted', null],
    ['be disabled', { ...owner, enabled: false }],
    ['lose the role', { ...owner, instanceRoles: ['IAM_OWNER_VIEWER'] }],
  ])('cannot %s, and one of two can', (_, after) => {
    expect(codeOf(() => assertOwnerLeft(owner, after, 0))).toBe('last_owner')
    expect(codeOf(() => assertOwnerLeft(owner, after, 1))).toBeUndefined()
  })

  it.each<[string, ServiceUser]>([
    ['no owner', user],
    ['an owner who is disabled', { ...owner, enabled: false }],
  ])('is not %s', (_, before) => {
    expect(codeOf(() => assertOwnerLeft(before, null, 0))).toBeUndefined()
  })
})

describe('what was issued to a user before a change', () => {
  const clock = new Date('2026-11-01T12:00:00Z')
  const owning = (projectId: string, role: 'PROJECT_OWNER' | 'PROJECT_OWNER_VIEWER' = 'PROJECT_OWNER') => ({
    managedProjects: new Map([[projectId, role]]),
  })

  it.each<[string, Partial<ServiceUser>, Partial<ServiceUser>]>([
    ['a role over the instance', {}, { instanceRoles: ['IAM_AUDITOR'] }],
    ['a further one', { instanceRoles: ['IAM_USER_ADMINISTRATOR'] }, { instanceRoles: ['IAM_KEY_OPERATOR'] }],
    ['a role over a project', {}, owning('a')],
    ['one over another project', owning('a'), owning('b')],
    ['a greater one', owning('a', 'PROJECT_OWNER_VIEWER'), owning('a')],
    ['client credentials', { clientCredentialsEnabled: false }, { clientCredentialsEnabled: true }],
    ['no client credentials any more', {}, { clientCredentialsEnabled: false }],
  ])('ends when it gets %s', (_, had, gets) => {
    const before = { ...user, ...had }
    expect(settleChange(before, { ...before, ...gets }, clock).tokensRevokedAt).toEqual(clock)
  })

  it.each<[string, Partial<ServiceUser>, Partial<ServiceUser>]>([
    ['another name', {}, { name: 'other' }],
    ['a lesser role', owner, { instanceRoles: ['IAM_OWNER_VIEWER'] }],
    ['none', owning('a'), { managedProjects: new Map() }],
    ['one that a role over the instance includes', owner, owning('a')],
    ['roles that its tokens carry', {}, { projectRoles: new Map([['a', ['reader']]]) }],
  ])('stays when it gets %s', (_, had, gets) => {
    const before = { ...user, ...had }
    const next = { ...before, ...gets }
    expect(settleChange(before, next, clock)).toBe(next)
  })
})
