import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createAddressPolicy } from '../../../src/outbound/address-policy.ts'
import { createSendHttps } from '../../../src/outbound/https-request.ts'
import { createWebhookSender } from '../../../src/outbound/webhook-sender.ts'
import { createAuthority } from '../../support/server-certificates.ts'
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts'

const authority = createAuthority()
const message = { headers: { 'content-type': 'application/json', 'x-mine': 'yes' }, body: '{"id":"1"}' }
const never = new AbortController().signal

let receiver: WebhookReceiver
beforeAll(async () => {
  receiver = await startReceiver(authority)
})
afterAll(() => receiver?.stop())

const senderOf = (timeoutMillis?: number) =>
  createWebhookSender(
    createSendHttps({ allows: createAddressPolicy(['127.0.0.1', '::1']), setting: 'SETTING', authorityHint: 'CA' }),
    timeoutMillis,
  )
const post = (options: { readonly timeoutMillis?: number; readonly signal?: AbortSignal } = {}) =>
  senderOf(options.timeoutMillis).post(
    { url: receiver.url, caCertificates: authority.cert },
    message,
    options.signal ?? never,
  )

describe('sending an event', () => {
  it('posts the body with its headers, and takes a 2xx for a delivery', async () => {
    receiver.answer(status(202))
    expect(await post()).toEqual({ kind: 'delivered' })
    const { headers, body } = receiver.received.at(-1)!
    expect(body).toBe(message.body)
    expect(headers).toMatchObject({ ...message.headers, 'content-length': '10' })
  })

  it.each([
    ['120', 120],
    [' 7 ', 7],
    [new Date(Date.now() - 60_000).toUTCString(), 0],
    ['-5', undefined],
    ['1e9', undefined],
    ['soon', undefined],
    ['99999999999999999999', undefined],
  ])('says how long a wait the receiver asks for with Retry-After: %s', async (value, retryAfterSeconds) => {
    receiver.answer(status(503, { 'retry-after': value }))
    const reason = 'answers with status 503'
    expect(await post()).toEqual({ kind: 'unavailable', reason, retryAfterSeconds })
  })

  it('ends when no answer comes in time', async () => {
    receiver.answer(() => {})
    expect(await post({ timeoutMillis: 200 })).toEqual({ kind: 'unavailable', reason: 'gives no answer within 0.2 s' })
  })

  it('ends when interim responses come without an end, long before the time is over', async () => {
    receiver.answer((_response, _received, { socket }) => {
      const flood = () => {
        while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1000)));
      }
      socket.on('error', () => {}).on('drain', flood)
      flood()
    })
    expect(await post({ timeoutMillis: 20_000 })).toEqual({
      kind: 'unavailable',
      reason: 'answers with more than 1048576 bytes',
    })
  }, 60_000)

  it('ends with the reason of the signal when it is aborted', async () => {
    const aborting = new AbortController()
    receiver.answer(() => aborting.abort(new Error('stopped')))
    await expect(post({ signal: aborting.signal })).rejects.toThrow('stopped')
  })
})
