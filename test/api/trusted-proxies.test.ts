import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { formOf, type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'

const MAX_PER_CLIENT = 100
const AT_ONCE = 20

let instance: OAuthInstance

beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8' })
})

afterAll(() => instance?.stop())

async function statusOf(robot: Robot, forwardedFor: string, secret = robot.clientSecret): Promise<number> {
  const form = { ...formOf(robot), client_secret: secret }
  return (await instance.postForm(form, { 'x-forwarded-for': forwardedFor })).status
}

async function fail(robot: Robot, forwardedFor: () => string): Promise<void> {
  for (let done = 0; done < MAX_PER_CLIENT; done += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => statusOf(robot, forwardedFor(), 'wrong')))
  }
}

describe('behind a trusted proxy', () => {
  it('failures count for the client that made them, and not for its neighbours', async () => {
    const robot = await instance.addRobot()
    await fail(robot, () => '203.0.113.7')
    expect(await statusOf(robot, '203.0.113.7')).toBe(429)
    expect(await statusOf(robot, '203.0.113.7, 10.1.2.3')).toBe(429)
    expect(await statusOf(robot, '203.0.113.8')).toBe(200)
    expect(await statusOf(robot, '203.0.113.7, 203.0.113.8')).toBe(200)
  })

  it('a client does not get more attempts by making addresses up', async () => {
    const robot = await instance.addRobot()
    let made = 0
    await fail(robot, () => {
      made += 1
      return `198.51.100.${made}, 203.0.113.9`
    })
    expect(await statusOf(robot, '203.0.113.9')).toBe(429)
  })
})
