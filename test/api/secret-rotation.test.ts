import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import type { Keyturn } from '../support/keyturn.ts'
import { formOf, type OAuthInstance, type Robot, refusal, seen, startOAuthInstance } from '../support/oauth-instance.ts'

const USERS = 'iam.user.v2.ServiceUserService'
const WORKERS = 8
/** Requests that must have been answered before the rotation goes on. */
const ENOUGH = 200

let instance: OAuthInstance
let replicas: [Keyturn, Keyturn]

beforeAll(async () => {
  instance = await startOAuthInstance()
  replicas = [instance.keyturn, await instance.startReplica()]
})

afterAll(() => instance?.stop())

/** Requests for tokens without a pause, at both replicas by turns, with one of the secrets in use at the moment. */
function startLoad(robot: Robot) {
  const outcomes = new Set<string>()
  const pending: string[] = []
  let secrets: readonly string[] = [robot.clientSecret]
  let answered = 0
  let running = true

  const work = async (worker: number) => {
    for (let i = worker; running; i += 1) {
      const clientSecret = secrets[i % secrets.length] ?? ''
      pending[worker] = clientSecret
      const outcome = await ask({ ...robot, clientSecret }, replicas[Math.floor(i / 2) % 2]).then(
        async (response) => `${response.status} ${response.ok ? 'with a token' : await response.text()}`,
        (error: unknown) => String(error),
      )
      outcomes.add(outcome)
      answered += 1
    }
  }
  const workers = Array.from({ length: WORKERS }, (_, i) => work(i))
  return {
    /** Goes on with these secrets only, until all requests with others and many with these have been answered. */
    use: async (...next: string[]) => {
      secrets = next
      const goal = answered + ENOUGH
      await eventually(() => {
        expect(next).toEqual(expect.arrayContaining(pending))
        expect(answered).toBeGreaterThan(goal)
      })
    },
    /** What became of the requests. */
    stop: async () => {
      running = false
      await Promise.all(workers)
      return [...outcomes]
    },
  }
}

function ask(robot: Robot, replica?: Keyturn): Promise<Response> {
  return instance.postForm(formOf(robot), {}, replica)
}

describe('rotating a client secret under load through two replicas [Spec §5]', () => {
  it('fails no request with a live secret, and ends the old one on both', async () => {
    const robot = await instance.addRobot()
    const [asked, other] = replicas
    const load = startLoad(robot)
    try {
      await load.use(robot.clientSecret)

      const generated = await instance.call<{ clientSecret: string }>(
        `${USERS}/GenerateClientSecret`,
        { userId: robot.userId },
        asked,
      )
      const renewed = { ...robot, clientSecret: generated.clientSecret }
      expect((await ask(renewed, asked)).status).toBe(200)
      await eventually(async () => expect((await ask(renewed, other)).status).toBe(200))
      await load.use(robot.clientSecret, renewed.clientSecret)
      await load.use(renewed.clientSecret)

      const { secrets } = await instance.call<{ secrets: { secretId: string }[] }>(`${USERS}/ListClientSecrets`, {
        userId: robot.userId,
      })
      const secretId = secrets[0]?.secretId
      await instance.call(`${USERS}/DeactivateClientSecret`, { userId: robot.userId, secretId }, asked)
      expect(await seen(await ask(robot, asked))).toEqual(refusal(401, 'invalid_client'))
      await eventually(async () => expect(await seen(await ask(robot, other))).toEqual(refusal(401, 'invalid_client')))
      await load.use(renewed.clientSecret)
      expect(await load.stop()).toEqual(['200 with a token'])
    } finally {
      await load.stop()
    }
  })
})
