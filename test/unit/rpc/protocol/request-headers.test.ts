import { describe, expect, it } from '@jest/globals'
import { capDeadline } from '../../../../src/rpc/protocol/request-headers.ts'

/** What becomes of a header, or of another one beside it. */
function capped(
  name: string,
  value: string,
  methodKind: 'unary' | 'server_streaming',
  looked: string = name,
): string | null {
  const header = new Headers({ [name]: value })
  capDeadline(header, { methodKind })
  return header.get(looked)
}

describe('the deadline of a call', () => {
  it.each([
    ['grpc-timeout', '59S', '59S'],
    ['grpc-timeout', '61S', '60S'],
    ['grpc-timeout', '99999999H', '60S'],
    ['connect-timeout-ms', '60000', '60000'],
    ['connect-timeout-ms', '60001', '60000'],
  ])('is kept within a minute: %s %s', (name, value, expected) => {
    expect(capped(name, value, 'unary')).toBe(expected)
  })
})

it('a call without a deadline, or with one that means nothing in its protocol, has the longest', () => {
  expect(capped('grpc-timeout', '5S', 'unary', 'connect-timeout-ms')).toBe('60000')
  expect(capped('connect-timeout-ms', '5000', 'unary', 'grpc-timeout')).toBe('60S')
})

describe('the deadline of a stream', () => {
  it.each([
    ['grpc-timeout', '10M'],
    ['grpc-timeout', '500H'],
    ['connect-timeout-ms', '600000'],
  ])('is as its client wishes: %s %s', (name, value) => {
    expect(capped(name, value, 'server_streaming')).toBe(value)
  })

  it('is not set by the server', () => {
    expect(capped('grpc-timeout', '5S', 'server_streaming', 'connect-timeout-ms')).toBeNull()
  })
})
