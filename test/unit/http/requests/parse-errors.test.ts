import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import { createAddressReader } from '../../../../src/http/requests/client-address.ts'
import { sendJson } from '../../../../src/http/requests/exchange.ts'
import { RequestContexts } from '../../../../src/http/requests/request-context.ts'
import { createRouter, notFound } from '../../../../src/http/requests/router.ts'
import { createRecordingLog } from '../../../support/log.ts'

let listener: Listener
let release = () => {}

beforeAll(async () => {
  const log = createRecordingLog()
  const handler = createRouter({
    routes: new Map([
      ['/', { methods: { GET: (_req, res) => sendJson(res, 200, {}), POST: () => {} }, cors: null }],
      [
        '/held',
        {
          methods: {
            GET: (_req, res) => {
              release = () => sendJson(res, 200, { held: true })
            },
          },
          cors: null,
        },
      ],
    ]),
    fallback: notFound,
    maxBodyBytes: 100,
    log,
    notes: new RequestContexts(createAddressReader([])),
    onAnswered: () => {},
  })
  const limits = { ...DEFAULT_LIMITS, headTimeout: 300, requestTimeout: 400, checkEvery: 50 }
  listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits, log, handler })
})

afterAll(() => listener.close(0))

/** Everything that the server answers to these bytes until it closes the connection. */
async function answerTo(bytes: string): Promise<string> {
  const socket = connect(listener.port, '127.0.0.1')
  socket.on('error', () => {})
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  socket.write(bytes, 'latin1')
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

describe('a request that HTTP does not allow', () => {
  it.each([
    ['without a target', 400, 'GET\r\n\r\n'],
    ['of an unknown method', 400, 'VATE / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['of an unknown version', 400, 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['with a field without a name', 400, 'GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n'],
    ['with two lengths', 400, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx'],
    [
      'with a length and chunks',
      400,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['with a head that is too long', 431, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['with a head that does not end', 408, 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['with a body that does not end', 408, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nslow'],
    [
      'with too long chunk extensions',
      413,
      `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`,
    ],
    ['without a host', 400, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s is answered with %d in the form of all errors', async (_name, status, request) => {
    const answer = await answerTo(request)
    const [head = '', body = ''] = answer.split('\r\n\r\n', 2)
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(head.toLowerCase()).toMatch(/\r\ncontent-type: application\/json/)
    expect(head.toLowerCase()).toMatch(/\r\nconnection: close/)
    expect(head.toLowerCase()).toContain(`\r\ncontent-length: ${body.length}`)
    expect(JSON.parse(body)).toEqual({ error: 'invalid_request', error_description: expect.any(String) })
  })

  it('that is no HTTP at all is not answered', async () => {
    expect(await answerTo('\u0016\u0003\u0001\u0002\u0000\u0001 hello')).toBe('')
    expect((await fetch(listener.url)).status).toBe(200)
  })

  it('is not answered in the place of an earlier one on its connection', async () => {
    const answer = await answerTo('GET /held HTTP/1.1\r\nHost: x\r\n\r\nGARBAGE\r\n\r\n')
    release()
    expect(answer).toBe('')
  })

  it('is not answered in the place of an earlier one that nobody has read', async () => {
    expect(await answerTo('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyGARBAGE\r\n\r\n')).toBe('')
  })

  it('is answered after the answers to the earlier ones', async () => {
    const socket = connect(listener.port, '127.0.0.1')
    socket.setEncoding('latin1').write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const [first] = await once(socket, 'data')
    socket.write('GARBAGE\r\n\r\n')
    const [second] = await once(socket, 'data')
    socket.destroy()
    expect(first).toMatch(/^HTTP\/1\.1 200 /)
    expect(second).toMatch(/^HTTP\/1\.1 400 /)
  })
})

it('an expectation that means nothing is not held against a request', async () => {
  expect(await answerTo('GET / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 200 /,
  )
})
