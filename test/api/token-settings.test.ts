/**
 * The lifetime and the claims of the tokens of one service user.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { formOf, type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'

let instance: OAuthInstance
let admin: Administration

beforeAll(async () => {
  instance = await startOAuthInstance()
  admin = await administrationOf(instance.keyturn)
})

afterAll(() => instance?.stop())

/** A token, and what the response says of it. */
async function tokenOf(robot: Robot, at = instance.keyturn) {
  const response = await instance.postForm(formOf(robot), {}, at)
  const { access_token, expires_in } = (await response.json()) as { access_token: string; expires_in: number }
  const claims = decodeJwt(access_token)
  return { claims, expiresIn: expires_in, lifetime: claims.exp! - claims.iat! }
}

const update = (
  userId: string,
  changes: { tokenLifetime?: { seconds: bigint; nanos?: number }; tokenClaims?: string },
  paths: string[],
) => admin.users.updateServiceUser({ userId, ...changes, updateMask: { paths } })

describe('a token', () => {
  it('lives as long as its user says, in the claims and in the response, on every replica', async () => {
    const robot = await instance.addRobot()
    const replica = await instance.startReplica()
    expect(await tokenOf(robot, replica)).toMatchObject({ expiresIn: 3600, lifetime: 3600 })
    await update(robot.userId, { tokenLifetime: { seconds: 90n } }, ['token_lifetime'])
    expect(await tokenOf(robot)).toMatchObject({ expiresIn: 90, lifetime: 90 })
    await eventually(async () => expect(await tokenOf(robot, replica)).toMatchObject({ expiresIn: 90, lifetime: 90 }))
    await update(robot.userId, {}, ['token_lifetime'])
    expect(await tokenOf(robot)).toMatchObject({ expiresIn: 3600, lifetime: 3600 })
  })

  it('lives no longer than the instance allows, also if that was changed later', async () => {
    const robot = await instance.addRobot()
    await update(robot.userId, { tokenLifetime: { seconds: 1800n } }, ['token_lifetime'])
    const shorter = await instance.startReplica({ KEYTURN_TOKEN_LIFETIME: '600' })
    expect(await tokenOf(robot, shorter)).toMatchObject({ expiresIn: 600, lifetime: 600 })
  })

  it('has the claims of its user besides those that every token has', async () => {
    const robot = await instance.addRobot()
    const { claims: before } = await tokenOf(robot)
    const own = { tenant: 'a', 'https://example.com/level': { of: [1, null, 'ü'] } }
    await update(robot.userId, { tokenClaims: JSON.stringify(own) }, ['token_claims'])
    const { claims } = await tokenOf(robot)
    const varying = { iat: expect.any(Number), exp: expect.any(Number), jti: expect.any(String) }
    expect(claims).toEqual({ ...before, ...varying, ...own })
    await update(robot.userId, {}, ['token_claims'])
    expect((await tokenOf(robot)).claims).toEqual({ ...before, ...varying })
  })
})

describe('UpdateServiceUser', () => {
  it.each([
    ['TOKEN_LIFETIME_INVALID', { tokenLifetime: { seconds: 59n } }, 'token_lifetime'],
    ['INVALID_ARGUMENT', { tokenLifetime: { seconds: 60n, nanos: 1 } }, 'token_lifetime'],
    ['TOKEN_CLAIMS_INVALID', { tokenClaims: '{"sub":"x"}' }, 'token_claims'],
    ['INVALID_ARGUMENT', { tokenClaims: `{"a":"${'x'.repeat(2000)}"}` }, 'token_claims'],
  ])('refuses with %s what no token may have: %j', async (reason, changes, path) => {
    const { userId } = await instance.addRobot()
    expect(await refusalOf(update(userId, changes, [path]))).toMatchObject({ code: 'InvalidArgument', reason })
    const { serviceUser } = await admin.users.getServiceUser({ userId })
    expect([serviceUser?.tokenLifetime, serviceUser?.tokenClaims]).toEqual([undefined, ''])
  })
})
