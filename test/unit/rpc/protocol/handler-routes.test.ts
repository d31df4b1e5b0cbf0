import { once } from 'node:events'
import { connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import { createConnectRouter, type HandlerContext } from '@connectrpc/connect'
import { afterEach, expect, it } from '@jest/globals'
import { WebKeyService } from '../../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import { createAddressReader } from '../../../../src/http/requests/client-address.ts'
import type { Handler } from '../../../../src/http/requests/exchange.ts'
import { RequestContexts } from '../../../../src/http/requests/request-context.ts'
import { createRouter, notFound, type Route } from '../../../../src/http/requests/router.ts'
import { connectOptions, routesOf } from '../../../../src/rpc/protocol/handler-routes.ts'
import { createRecordingLog } from '../../../support/log.ts'

const log = createRecordingLog()
let listener: Listener
/** The last answer. */
let answered: Promise<void>

afterEach(() => listener.close(0))

const MAX_MESSAGE_BYTES = 65_536
const router = createConnectRouter(connectOptions(MAX_MESSAGE_BYTES)).service(WebKeyService, {
  listWebKeys: () => ({}),
})

/** Serves the web key service on a port. */
async function serve(served = router): Promise<void> {
  const notes = new RequestContexts(createAddressReader([]))
  const options = { requestContext: notes, maxMessageBytes: () => MAX_MESSAGE_BYTES }
  const routes = [...routesOf(served, options)].map(([path, { answers }]): [string, Route] => {
    const handler: Handler = (req, res) => {
      answered = answers.POST!(req, res)
      return answered
    }
    return [path, { methods: { GET: handler, POST: handler }, cors: null }]
  })
  const handler = createRouter({
    routes: new Map(routes),
    fallback: notFound,
    maxBodyBytes: DEFAULT_LIMITS.maxBodyBytes,
    log,
    contexts: notes,
    onAnswered: () => {},
  })
  listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits: DEFAULT_LIMITS, log, handler })
}

const OVER = {
  async 'HTTP/1.1'(path: string, method = 'GET') {
    const response = await fetch(listener.url + path, { method })
    return { status: response.status, body: await response.text() }
  },
  async 'HTTP/2'(path: string, method = 'GET') {
    const session = connect(listener.url)
    try {
      const request = session.request({ ':method': method, ':path': path })
      const [head] = await once(request, 'response')
      return { status: head[':status'], body: await text(request) }
    } finally {
      session.destroy()
    }
  },
}

const LIST = '/iam.webkey.v2.WebKeyService/ListWebKeys?connect=v1&message=%7B%7D'

for (const [protocol, get] of Object.entries(OVER)) {
  it(`a call over ${protocol} that fails before there is an answer gets 500`, async () => {
    const fails = () => Promise.reject(new Error('no answer'))
    await serve({ ...router, handlers: router.handlers.map((handler) => Object.assign(fails.bind(null), handler)) })
    const { status, body } = await get(`${LIST}&encoding=json`)
    expect([status, JSON.parse(body)]).toMatchObject([500, { error: 'server_error' }])
  })
}

it('a call whose client disconnects is no failure of the server', async () => {
  const called = Promise.withResolvers<void>()
  const listWebKeys = async (_: unknown, { signal }: HandlerContext) => {
    called.resolve()
    await once(signal, 'abort')
    return {}
  }
  await serve(createConnectRouter(connectOptions(MAX_MESSAGE_BYTES)).service(WebKeyService, { listWebKeys }))
  const logged = log.lines.length
  const client = new AbortController()
  const response = fetch(`${listener.url}${LIST}&encoding=json`, { signal: client.signal })
  await called.promise
  client.abort()
  await expect(response).rejects.toThrow('aborted')
  await answered
  expect(log.lines.slice(logged)).toEqual([])
})
