import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { allows, type InstanceRole as RoleName } from '../../src/domain/identities/permission.ts'
import { type Administration, administrationOf, administrationWith, METHODS } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'

const CALLERS = [
  { caller: 'an owner', role: 'IAM_OWNER', wire: [InstanceRole.IAM_OWNER] },
  { caller: 'a viewer', role: 'IAM_OWNER_VIEWER', wire: [InstanceRole.IAM_OWNER_VIEWER] },
  { caller: 'a user without a role', role: null, wire: [] },
] as const satisfies readonly { caller: string; role: RoleName | null; wire: InstanceRole[] }[]

let instance: OAuthInstance
const administrations = new Map<string, Administration>()

beforeAll(async () => {
  instance = await startOAuthInstance()
  const admin = await administrationOf(instance.keyturn)
  for (const { caller, wire } of CALLERS) {
    const robot = await instance.addRobot()
    await admin.users.setInstanceRoles({ userId: robot.userId, instanceRoles: wire })
    const token = await instance.accessToken(robot, 'urn:service:iam:org:project:id:service:aud')
    administrations.set(caller, administrationWith(instance.keyturn, token))
  }
})

afterAll(() => instance?.stop())

describe.each(CALLERS)('$caller', ({ caller, role }) => {
  it.each(METHODS)(
    'calls $path, which needs $permission, if its role says so [Spec §5]',
    async ({ path, permission }) => {
      // No method accepts a field of this name, so what is let through does nothing.
      const { status, body } = await administrations.get(caller)!.post(path, { nothing: 1 })
      if (role !== null && allows([role], permission)) {
        expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_argument' })
      } else {
        expect({ status, code: body.code }).toEqual({ status: 403, code: 'permission_denied' })
        expect(body.message).toContain(permission)
      }
    },
  )
})

describe('a stranger', () => {
  it.each(METHODS)('does not call $path', async ({ path }) => {
    const response = await instance.fetch(`/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ code: 'unauthenticated' })
  })
})

describe('the services', () => {
  it('have every method here', () => {
    expect(METHODS).toHaveLength(4 + 10 + 14 + 24 + 3 + 6 + 3 + 1 + 2 + 3 + 7)
  })
})
