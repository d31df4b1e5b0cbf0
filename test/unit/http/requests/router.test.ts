import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import { createAddressReader } from '../../../../src/http/requests/client-address.ts'
import { READ_ONLY } from '../../../../src/http/requests/cors.ts'
import { sendJson } from '../../../../src/http/requests/exchange.ts'
import { RequestContexts } from '../../../../src/http/requests/request-context.ts'
import { type Answered, createRouter, notFound, type Route } from '../../../../src/http/requests/router.ts'
import { eventually } from '../../../support/eventually.ts'
import { createRecordingLog } from '../../../support/log.ts'

const log = createRecordingLog()
const answered: Answered[] = []
let listener: Listener

beforeAll(async () => {
  const routes = new Map<string, Route>([
    ['/public', { methods: { GET: (_req, res) => sendJson(res, 200, { public: true }) }, cors: READ_ONLY }],
    [
      '/private',
      { methods: { POST: (req, res) => sendJson(res, 200, { id: req.headers['x-request-id'] }) }, cors: null },
    ],
    ['/fails', { methods: { GET: () => Promise.reject(new Error('the secret is 42')) }, cors: null }],
    [
      '/fails-late',
      {
        methods: {
          GET: (_req, res) => {
            res.write('half')
            throw new Error('late')
          },
        },
        cors: null,
      },
    ],
  ])
  const handler = createRouter({
    routes,
    fallback: notFound,
    maxBodyBytes: 100,
    log,
    contexts: new RequestContexts(createAddressReader([])),
    onAnswered: (one) => answered.push(one),
  })
  listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits: DEFAULT_LIMITS, log, handler })
})

afterAll(() => listener.close(0))

const call = (path: string, options: RequestInit = {}) => fetch(listener.url + path, options)

describe('the router', () => {
  it.each(['/', '/public/', '/PUBLIC', '//public', '/private/x'])('answers 404 at %s', async (path) => {
    expect((await call(path)).status).toBe(404)
  })

  it.each([
    ['/public', 'POST', 'GET, HEAD, OPTIONS'],
    ['/public', 'DELETE', 'GET, HEAD, OPTIONS'],
    ['/private', 'GET', 'POST'],
    ['/private', 'OPTIONS', 'POST'],
  ])('of %s refuses %s and says what it takes', async (path, method, allow) => {
    const response = await call(path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
  })

  it('lets pages of any origin read what is public, and nothing else', async () => {
    const headers = { origin: 'https://app.example' }
    expect((await call('/public', { headers })).headers.get('access-control-allow-origin')).toBe('*')
    const exposed = (await call('/public', { headers })).headers.get('access-control-expose-headers')
    expect(exposed?.split(', ')).toEqual(['etag', 'retry-after', 'x-request-id'])
    const open = await call('/private', { method: 'POST', headers })
    expect(open.headers.get('access-control-allow-origin')).toBeNull()

    const preflight = await call('/public', { method: 'OPTIONS', headers })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD')
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
  })

  it('gives each request an id of its own, and reports that of the client if it is harmless', async () => {
    answered.length = 0
    const ids: (string | null)[] = []
    for (const id of ['abc-1', 'abc-1', 'a b', 'x'.repeat(65)]) {
      const response = await call('/private', { method: 'POST', headers: { 'x-request-id': id } })
      const ours = response.headers.get('x-request-id')
      expect(ours).toMatch(/^[0-9a-f-]{36}$/)
      expect(await response.json()).toEqual({ id: ours })
      ids.push(ours)
    }
    expect(new Set(ids).size).toBe(ids.length)
    await eventually(() => expect(answered).toHaveLength(ids.length))
    expect(answered.map(({ requestId }) => requestId)).toEqual(ids)
    expect(answered.map(({ clientRequestId }) => clientRequestId)).toEqual(['abc-1', 'abc-1', undefined, undefined])
  })

  it('refuses a body that is too long before reading it', async () => {
    const response = await call('/private', { method: 'POST', body: 'x'.repeat(101) })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: 'invalid_request' })
  })

  it('answers an error with the request id and nothing of its message', async () => {
    const response = await call('/fails')
    const requestId = response.headers.get('x-request-id')
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({
      error: 'server_error',
      error_description: `internal error, request id ${requestId}`,
    })
    expect(log.lines.join()).toContain(requestId)
  })
})
