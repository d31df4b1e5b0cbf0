import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import { createRecordingLog } from '../../../support/log.ts'

const CHUNKED = '3\r\na=b\r\n0\r\n\r\n'
const NEXT = 'GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

let listener: Listener
let asked: (string | undefined)[]
beforeEach(async () => {
  asked = []
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    limits: DEFAULT_LIMITS,
    log: createRecordingLog(),
    handler: (req, res) => {
      asked.push(req.url)
      req.resume().on('end', () => res.end('answered'))
    },
  })
})
afterEach(() => listener.close(0))

/** What comes back until the server closes the connection. */
async function send(head: string): Promise<string> {
  const socket = connect(listener.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`${head}\r\n\r\n${CHUNKED}${NEXT}`)
  return await text(socket)
}

describe('a request with Transfer-Encoding [RFC 9112 §6.1]', () => {
  it('is answered if that is chunked, and so is the next one of its connection', async () => {
    expect(await send('POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked')).toMatch(/^HTTP\/1\.1 200 /)
    expect(asked).toEqual(['/one', '/next'])
  })

  it.each([
    ['POST /one HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked', 400],
    ['POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked', 501],
    ['POST /one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked', 501],
    ['POST /one HTTP/2.0\r\nHost: x\r\nTransfer-Encoding: chunked', 400],
  ])('is refused, and its connection closed: %j', async (head, status) => {
    const answer = await send(head)
    expect(answer).toMatch(
      new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*\\r\\nconnection: close\\r\\n[\\s\\S]*"error":"invalid_request"`, 'i'),
    )
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
    expect(asked).toEqual([])
  })
})
