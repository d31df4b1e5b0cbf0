import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
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

beforeAll(async () => {
  const log = createRecordingLog()
  const handler = createRouter({
    routes: new Map([
      ['/', { methods: { GET: (_req, res) => sendJson(res, 200, {}) }, cors: null }],
      ['/token', { methods: { POST: (_req, res) => sendJson(res, 200, {}) }, cors: null, sendsHead: true }],
    ]),
    fallback: notFound,
    maxBodyBytes: 100,
    log,
    notes: new RequestContexts(createAddressReader([])),
    onAnswered: () => {},
  })
  listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits: DEFAULT_LIMITS, log, handler })
})

afterAll(() => listener.close(0))

/** The status of an HTTP/1.x request with these lines after the first one. */
async function statusOf(lines: readonly string[], start = 'GET / HTTP/1.1'): Promise<number> {
  const socket = connect(listener.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.end(`${[start, ...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`, 'latin1')
  let text = ''
  for await (const chunk of socket.setEncoding('latin1')) text += chunk
  return Number(/^HTTP\/1\.1 (\d+) /.exec(text)?.[1])
}

/** The status of an HTTP/2 request with these fields. A stream that is reset as malformed (RFC 9113 §8.1.1) counts as 400. */
async function statusOver2(fields: Record<string, string>): Promise<number> {
  const session = connectHttp2(listener.url)
  session.on('error', () => {})
  try {
    const request = session.request({ ':path': '/', ...fields })
    const [head] = await once(request, 'response').catch((error: unknown) => {
      if (request.rstCode !== constants.NGHTTP2_PROTOCOL_ERROR) throw error
      return [{ ':status': 400 }]
    })
    return head[':status']
  } finally {
    session.destroy()
  }
}

describe('a request over HTTP/1.1', () => {
  it.each([
    ['two Host headers', ['Host: a', 'Host: b']],
    ['the same Host header twice', ['Host: a', 'hOST: a']],
    ['no Host header', []],
    ['a user', ['Host: user@a']],
    ['a path', ['Host: a/b']],
    ['a scheme', ['Host: http://a']],
    ['a list', ['Host: a, b']],
    ['a blank', ['Host: a b']],
    ['a control character', ['Host: a\tb']],
    ['a character beyond ASCII', ['Host: \u00e4']],
    ['half an escape', ['Host: a%2']],
    ['a port that is no number', ['Host: a:http']],
    ['a port that does not exist', ['Host: a:65536']],
    ['two ports', ['Host: a:1:2']],
    ['an address of IPv6 without brackets', ['Host: ::1']],
    ['something else in brackets', ['Host: [localhost]']],
    ['a zone of an address of IPv6', ['Host: [fe80::1%25eth0]']],
    ['a zone that is not escaped', ['Host: [fe80::1%eth0]']],
  ])('with %s is refused [RFC 9112 §3.2]', async (_name, lines) => {
    expect(await statusOf(lines)).toBe(400)
    expect(await statusOf(lines, 'POST /token HTTP/1.1')).toBe(400)
  })

  it.each(['a', 'A.b-c_~:8080', 'localhost', '127.0.0.1:80', '[::1]', '[2001:db8::1]:443', 'a:', 'a%2Db', ''])(
    'for the host "%s" is served [RFC 9112 §3.2]',
    async (host) => {
      expect(await statusOf([`Host: ${host}`])).toBe(200)
    },
  )
})

describe('a request for a target in absolute form', () => {
  it.each([
    ['another host than the Host header', 'http://evil.example/', 'good.example'],
    ['another port', 'http://a:8080/', 'a'],
    ['a user', 'http://user@a/', 'a'],
    ['no host', 'http:///', 'a'],
    ['an address of IPv6 without brackets', 'http://::1/', '[::1]'],
  ])('with %s is refused [RFC 9112 §3.2.2]', async (_name, target, host) => {
    expect(await statusOf([`Host: ${host}`], `GET ${target} HTTP/1.1`)).toBe(400)
    expect(await statusOf([`Host: ${host}`], `POST ${target}token HTTP/1.1`)).toBe(400)
  })

  it.each([
    ['http://a/', 'a'],
    ['HTTP://A:80', 'a'],
    ['https://a:443/', 'a'],
    ['http://a?x', 'a'],
    ['http://[::1]:8080/?x', '[::1]:8080'],
  ])('of %s with the Host header %s is served [RFC 9112 §3.2.2]', async (target, host) => {
    expect(await statusOf([`Host: ${host}`], `GET ${target} HTTP/1.1`)).toBe(200)
  })
})

it('a request over HTTP/1.0 needs no Host header, and may not have two [RFC 9112 §3.2]', async () => {
  const start = 'GET / HTTP/1.0'
  expect([await statusOf([], start), await statusOf(['Host: a', 'Host: a'], start)]).toEqual([200, 400])
})

describe('a request over HTTP/2', () => {
  it.each([
    ['a Host header that differs from the authority', { ':authority': 'a', host: 'b' }],
    ['an authority with a user', { ':authority': 'user@a' }],
    ['an authority that is no host', { ':authority': 'a/b' }],
    ['a port that does not exist', { ':authority': 'a:65536' }],
    ['a Host header with another port than the authority', { ':authority': 'a', host: 'a:8080' }],
  ])('with %s is refused [RFC 9113 §8.3.1]', async (_name, fields) => {
    expect(await statusOver2(fields)).toBe(400)
  })

  it.each([[{ ':authority': 'a' }], [{ ':authority': 'a', host: 'a' }], [{ ':authority': 'A:80', host: 'a' }]])(
    'with %j is served [RFC 9113 §8.3.1]',
    async (fields) => {
      expect(await statusOver2(fields)).toBe(200)
    },
  )
})
