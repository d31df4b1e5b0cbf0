import { describe, expect, it } from '@jest/globals'
import { nameOf, planPerson, type RoleRule, rolesOf } from '../../../../src/domain/console/person.ts'
import { createServiceUser } from '../../../../src/domain/identities/service-user.ts'

const AT = new Date('2026-11-23T12:00:00Z')
const FACTS = { userId: 'u', projectId: 'p', projectName: 'people', name: 'Alice' }
const RULES: readonly RoleRule[] = [
  { role: 'IAM_OWNER_VIEWER', claim: 'groups', values: ['dev', 'ops'] },
  { role: 'IAM_OWNER', claim: 'groups', values: ['platform'] },
  { role: 'IAM_KEY_OPERATOR', claim: 'groups', values: ['keys'] },
  { role: 'IAM_AUDITOR', claim: 'groups', values: ['audit', 'keys-audit'] },
  { role: 'IAM_OWNER', claim: 'https://claims.example/admin', values: ['yes'] },
  { role: 'IAM_OWNER', claim: 'email', values: ['ada@example.com'] },
]

describe('the roles of a person', () => {
  it.each([
    ['of a list', { groups: ['x', 'ops'] }, ['IAM_OWNER_VIEWER']],
    ['of a text', { groups: 'dev' }, ['IAM_OWNER_VIEWER']],
    ['that is the greatest of all', { groups: ['dev', 'platform'] }, ['IAM_OWNER']],
    ['and another one', { groups: ['audit', 'keys'] }, ['IAM_AUDITOR', 'IAM_KEY_OPERATOR']],
    ['of another claim', { groups: ['dev'], 'https://claims.example/admin': 'yes' }, ['IAM_OWNER']],
    ['of a verified address', { email: 'ada@example.com', email_verified: true }, ['IAM_OWNER']],
    ['of an address that is not verified: none', { email: 'ada@example.com', email_verified: false }, []],
    ['of an address that may be verified: none', { email: 'ada@example.com' }, []],
    ['of an address that is verified in words: none', { email: 'ada@example.com', email_verified: 'true' }, []],
    ['of a part of a value: none', { groups: ['platform-guests', 'dev,platform'] }, []],
    [
      'of another kind of value: none',
      { groups: [{ platform: true }, 1, null], 'https://claims.example/admin': true },
      [],
    ],
    ['of nested lists: none', { groups: [['platform']] }, []],
    ['without the claim: none', {}, []],
    ['of what every object has: none', Object.create({ groups: ['platform'] }) as object, []],
  ])('are that %s', (_, claims, expected) => {
    expect(rolesOf({ claims: claims as Record<string, unknown> }, RULES)).toEqual(expected)
  })
})

describe('the name of a person', () => {
  it.each([
    [{ name: 'Alice Doe', email: 'a@example.com' }, 'Alice Doe'],
    [{ preferred_username: 'alice' }, 'alice'],
    [{ name: ' ', email: 'a@example.com' }, 'a@example.com'],
    [{ name: 'A\u0000l\nice\u001b[31m' }, 'A l ice [31m'],
    [{ name: 7 }, 'subject'],
    [{ name: 'x'.repeat(300) }, 'x'.repeat(200)],
  ])('in %j is %s', (claims, expected) => {
    expect(nameOf({ claims, subject: 'subject' })).toBe(expected)
  })

  it('is never empty', () => {
    expect(nameOf({ claims: {}, subject: '\u0007' })).toBe('person')
  })
})

describe('the user of a person', () => {
  const user = planPerson(undefined, { ...FACTS, instanceRoles: ['IAM_OWNER'] }, AT)

  it('gets no tokens, and has the role', () => {
    expect(user).toMatchObject({
      ...FACTS,
      clientCredentialsEnabled: false,
      enabled: true,
      instanceRoles: ['IAM_OWNER'],
    })
    expect(user.credentials).toEqual([])
  })

  it('is not changed if nothing has changed', () => {
    expect(planPerson(user, { ...FACTS, instanceRoles: ['IAM_OWNER'] }, AT)).toBe(user)
  })

  it('is not made for a person without a role, and is not enabled again', () => {
    const refusal = expect.objectContaining({ code: 'sign_in_not_allowed' })
    expect(() => planPerson(undefined, { ...FACTS, instanceRoles: [] }, AT)).toThrow(refusal)
    const disabled = { ...createServiceUser({ ...FACTS, clientCredentialsEnabled: false }, AT), enabled: false }
    expect(() => planPerson(disabled, { ...FACTS, instanceRoles: ['IAM_OWNER'] }, AT)).toThrow(refusal)
  })
})
