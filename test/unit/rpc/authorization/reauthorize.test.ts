import { createContextValues, type Interceptor } from '@connectrpc/connect'
import { describe, expect, it } from '@jest/globals'
import { Health } from '../../../../gen/grpc/health/v1/health_pb.js'
import type { UserAuthority } from '../../../../src/domain/identities/authority.ts'
import { type Reach, WHOLE_INSTANCE } from '../../../../src/domain/identities/reach.ts'
import { actorOf, setActor } from '../../../../src/rpc/authorization/actor.ts'
import { permissionOf, reauthorize } from '../../../../src/rpc/authorization/authorize.ts'

type Next = Parameters<Interceptor>[0]
type Request = Parameters<Next>[0]

const authority: UserAuthority = {
  kind: 'user',
  userId: 'somebody',
  permission: 'iam.user.read',
  reach: WHOLE_INSTANCE,
  credential: { kind: 'personal_access_token', tokenId: 'token', expiresAt: new Date(0) },
}

const LESS: Reach = { kind: 'limited', projectIds: new Set(['project']), userId: null }

/** A call that the gate has let through, or has not seen. */
function aCall({ stream = false, gated = true }): Request {
  const contextValues = createContextValues()
  if (gated) setActor(contextValues, { actor: 'somebody', action: 'Call', requestId: 'request-1', authority })
  return { stream, contextValues, method: { name: 'Call' } } as unknown as Request
}

/** What happens to a call, in order. */
async function stepsOf(call: Request): Promise<unknown[]> {
  const steps: unknown[] = []
  const access = {
    reauthorize: async (checked: UserAuthority): Promise<UserAuthority> => {
      steps.push(checked)
      return { ...checked, reach: LESS }
    },
  }
  const next: Next = async ({ contextValues }) => {
    steps.push({ handledWith: actorOf({ values: contextValues }).authority.reach })
    return {} as Awaited<ReturnType<Next>>
  }
  await reauthorize(access)(next)(call).catch((error: Error) => steps.push(error.message))
  return steps
}

describe('the check after the body', () => {
  it('is about the authority that the gate has granted, and the handler gets it with the reach that it has by then', async () => {
    expect(await stepsOf(aCall({}))).toEqual([authority, { handledWith: LESS }])
  })

  it('lets no call through that has not passed the gate', async () => {
    expect(await stepsOf(aCall({ gated: false }))).toEqual(['the call has not passed the gate'])
  })

  it('comes before each message of a stream, in both directions, and ends it when the right is lost', async () => {
    const steps: string[] = []
    let checks = 0
    const access = {
      reauthorize: async (checked: UserAuthority): Promise<UserAuthority> => {
        checks += 1
        if (checks > 3) throw new Error('the right is lost')
        steps.push('checked')
        return checked
      },
    }
    const next: Next = async (req) => {
      if (!req.stream) throw new Error('the request does not stream')
      const requests = req.message
      async function* respond() {
        for await (const _ of requests) steps.push('asked')
        for (const answer of ['first', 'second', 'third']) {
          steps.push(answer)
          yield answer
        }
      }
      return { stream: true, message: respond() } as never
    }
    async function* ask() {
      yield {}
    }
    const call = { ...aCall({ stream: true }), message: ask() } as Request
    const response = await reauthorize(access)(next)(call)
    const received: unknown[] = []
    const receive = async () => {
      if (response.stream) for await (const message of response.message) received.push(message)
    }
    await expect(receive()).rejects.toThrow('the right is lost')
    expect(steps).toEqual(['checked', 'asked', 'first', 'checked', 'second', 'checked', 'third'])
    expect(received).toEqual(['first', 'second'])
  })
})

it('a method without a permission is refused, before any caller comes', () => {
  expect(() => permissionOf(Health.method.check)).toThrow('grpc.health.v1.Health.Check must name a permission')
})
