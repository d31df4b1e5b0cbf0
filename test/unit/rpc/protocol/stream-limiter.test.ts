import { expect, it } from '@jest/globals'
import { StreamLimiter } from '../../../../src/rpc/protocol/stream-limiter.ts'

it('a stream is refused when its holder, or all together, hold as many as they may, until one of them ends', () => {
  const streams = new StreamLimiter({ perHolder: 2, total: 3 }, (message) => new Error(message))
  const open = (holder: string) => {
    const call = new AbortController()
    streams.admit(holder, call.signal)
    return call
  }
  const first = open('a')
  open('a')
  expect(() => open('a')).toThrow('2 such streams of this caller')
  open('b')
  expect(() => open('c')).toThrow('3 such streams in all')
  first.abort()
  open('c')
  expect(() => open('a')).toThrow('3 such streams in all')
  expect(() => streams.admit('a', AbortSignal.abort())).not.toThrow()
})
