/**
 * What `unavailable` tells clients of each protocol: when to try again (RFC 9110 §10.2.3).
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../src/http/listener.ts'
import { createAddressReader } from '../../../src/http/requests/client-address.ts'
import { RequestContexts } from '../../../src/http/requests/request-context.ts'
import { createPublicRpc, type PublicRpc } from '../../../src/rpc/public/public-routes.ts'
import { eventually } from '../../support/eventually.ts'
import { watchHealth } from '../../support/grpc-health.ts'
import { createRecordingLog } from '../../support/log.ts'

const WATCH = '/grpc.health.v1.Health/Watch'

let listener: Listener
let rpc: PublicRpc

beforeEach(async () => {
  const log = createRecordingLog()
  const notes = new RequestContexts(createAddressReader([]))
  const serving = () => ({ tokens: true, administration: true })
  rpc = createPublicRpc({
    serving,
    servesDeprecated: true,
    servesZitadel: false,
    servesConsole: true,
    requestContext: notes,
    log,
  })
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    limits: DEFAULT_LIMITS,
    log,
    handler: (req, res) => rpc.routes.get(req.url ?? '')?.answers.POST?.(req, res),
  })
})

afterEach(() => listener.close(0))

function envelope(flags: number, payload: Uint8Array | string): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(payload)
  const head = Buffer.alloc(5)
  head.writeUInt8(flags)
  head.writeUInt32BE(bytes.length, 1)
  return Uint8Array.from([...head, ...bytes])
}

async function post(path: string, headers: Record<string, string>, body: Uint8Array<ArrayBuffer>) {
  return fetch(listener.url + path, { method: 'POST', headers, body })
}

describe('a stream that ends because the server stops', () => {
  it('says when to open it again, over gRPC', async () => {
    const watching = watchHealth(listener.url)
    await eventually(() => expect(watching.statuses).toEqual(['SERVING']))
    rpc.endStreams()
    const { code, metadata } = await watching.ended
    expect([code, metadata.get('retry-after')]).toEqual([14, ['5']])
  })

  it.each([
    ['gRPC-Web', 'application/grpc-web+json', /grpc-status: 14\r\n/, /retry-after: 5\r\n/],
    ['Connect', 'application/connect+json', /"code":"unavailable"/, /"retry-after":\["5"\]/],
  ])('says when to open it again, over %s', async (_name, contentType, code, retryAfter) => {
    const response = await post(WATCH, { 'content-type': contentType }, envelope(0, '{}'))
    rpc.endStreams()
    const text = await response.text()
    expect(text).toMatch(code)
    expect(text).toMatch(retryAfter)
  })
})
