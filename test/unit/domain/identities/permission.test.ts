import { describe, expect, it } from '@jest/globals'
import {
  allows,
  allowsInProject,
  allowsOverItself,
  INSTANCE_ROLE_NAMES,
  isPermission,
  PERMISSIONS,
  PROJECT_MEMBER_ROLE_NAMES,
} from '../../../../src/domain/identities/permission.ts'
import { PERMISSION_TABLE } from '../../../support/roles-page.ts'

describe('an instance role', () => {
  it.each(PERMISSIONS)('of an owner includes %s [Spec §5]', (permission) => {
    expect(allows(['IAM_OWNER'], permission)).toBe(true)
  })

  it.each(PERMISSIONS)('of a viewer includes %s exactly if it is about reading, and not webhooks', (permission) => {
    // The URL of a receiver may be all that it takes to send to it.
    const isReading = permission.endsWith('.read') && permission !== 'iam.webhook.read'
    expect(allows(['IAM_OWNER_VIEWER'], permission)).toBe(isReading)
  })
})

describe('a permission', () => {
  it.each(['iam.web_key.read', 'iam.web_key.write', 'iam.web_key.delete'])('is %s [Spec §5]', (text) => {
    expect(isPermission(text)).toBe(true)
  })

  it.each(['', 'iam.web_key', 'iam.web_key.', 'iam.web_key.READ', 'iam.user', 'length'])('is not %j', (text) => {
    expect(isPermission(text)).toBe(false)
  })
})

describe('a role over a project', () => {
  it('includes nothing that is about more than one project, but signing in', () => {
    const included = PERMISSIONS.filter((permission) => allowsInProject('PROJECT_OWNER', permission))
    expect(included.filter((permission) => !/^iam\.(project|user)\./.test(permission))).toEqual(['iam.console.read'])
    expect(included).not.toContain('iam.project.audience.write')
  })
})

describe('the table of the page about roles', () => {
  it('has every permission once, in any order', () => {
    expect([...PERMISSION_TABLE.keys()].sort()).toEqual(PERMISSIONS.toSorted())
  })

  it.each(PERMISSIONS)('says who has %s', (permission) => {
    expect([...PERMISSION_TABLE.get(permission)!].sort()).toEqual(
      [
        ...INSTANCE_ROLE_NAMES.filter((role) => allows([role], permission)),
        ...PROJECT_MEMBER_ROLE_NAMES.filter((role) => allowsInProject(role, permission)),
        ...(allowsOverItself(permission) ? ['itself'] : []),
      ].sort(),
    )
  })
})
