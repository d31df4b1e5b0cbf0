import { type CallOptions, Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect'
import { describe, expect, it } from '@jest/globals'
import { Health, HealthCheckResponse_ServingStatus as Status } from '../../../../gen/grpc/health/v1/health_pb.js'
import { WebKeyService } from '../../../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { healthService } from '../../../../src/rpc/public/health-service.ts'
import { eventually } from '../../../support/eventually.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const WEB_KEYS = WebKeyService.typeName

function start() {
  const clock = new ManualClock()
  const state = { tokens: true, administration: true }
  const stopping = new AbortController()
  const originOf = () => ({ address: '127.0.0.1', connection: {}, cutOff: () => {} })
  const service = healthService({ serving: () => state, administration: [WebKeyService], clock, originOf })
  const transport = createRouterTransport((router) => void router.service(Health, service), {
    router: { shutdownSignal: stopping.signal },
  })
  const client = createClient(Health, transport)
  const watch = (name: string, options: CallOptions = {}) => {
    const statuses = client.watch({ service: name }, options)[Symbol.asyncIterator]()
    return async () => (await statuses.next()).value?.status as Status | undefined
  }
  /** Lets the time pass after which watchers hear of changes, once somebody waits for them. */
  const look = async () => {
    await eventually(() => expect(clock.waiting).toBe(1))
    clock.advance(250)
  }
  return { client, clock, state, stopping, watch, look }
}

describe('the health of', () => {
  it.each([
    ['everything', { tokens: true, administration: true }, Status.SERVING, Status.SERVING],
    ['a server without a key that signs', { tokens: false, administration: true }, Status.NOT_SERVING, Status.SERVING],
    ['a server that is starting', { tokens: false, administration: false }, Status.NOT_SERVING, Status.NOT_SERVING],
  ])('%s is told for the server and for its services', async (_, serving, ofServer, ofService) => {
    const { client, state } = start()
    Object.assign(state, serving)
    expect((await client.check({})).status).toBe(ofServer)
    expect((await client.check({ service: WEB_KEYS })).status).toBe(ofService)
    expect((await client.list({})).statuses).toMatchObject({
      '': { status: ofServer },
      [WEB_KEYS]: { status: ofService },
    })
  })

  it('a service that is not there is not found', async () => {
    await expect(start().client.check({ service: 'x.Y' })).rejects.toMatchObject({ code: Code.NotFound })
  })
})

describe('a watcher', () => {
  it('hears the status at once, and then each change', async () => {
    const { state, watch, look } = start()
    const next = watch('')
    expect(await next()).toBe(Status.SERVING)

    const second = next()
    state.tokens = false
    await look()
    expect(await second).toBe(Status.NOT_SERVING)

    const third = next()
    state.tokens = true
    await look()
    expect(await third).toBe(Status.SERVING)
  })

  it('of a service that is not there hears so, and may stay', async () => {
    const { watch, clock, look } = start()
    const client = new AbortController()
    const next = watch('x.Y', { signal: client.signal })
    expect(await next()).toBe(Status.SERVICE_UNKNOWN)

    const end = next().catch((error: unknown) => error)
    await look()
    await eventually(() => expect(clock.waiting).toBe(1))
    client.abort()
    expect(await end).toMatchObject({ code: Code.Canceled })
  })

  it('hears the last status of a server that stops, and why it was sent away', async () => {
    const { state, stopping, watch } = start()
    const next = watch('')
    expect(await next()).toBe(Status.SERVING)

    const last = next()
    state.tokens = false
    stopping.abort(new ConnectError('stopping', Code.Unavailable))
    expect(await last).toBe(Status.NOT_SERVING)
    await expect(next()).rejects.toMatchObject({ code: Code.Unavailable, rawMessage: 'stopping' })
  })
})
