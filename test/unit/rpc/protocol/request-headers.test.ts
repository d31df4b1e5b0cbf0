import { expect, it } from '@jest/globals'
import { adjustHeaders } from '../../../../src/rpc/protocol/request-headers.ts'

it.each([
  ['grpc-timeout', '59S', '59S'],
  ['grpc-timeout', '500H', '500H'],
  ['grpc-timeout', '99999999H', null],
  ['connect-timeout-ms', '600000', '600000'],
  ['connect-timeout-ms', '9999999999', null],
])('a deadline is kept that a timer can wait for: %s %s', (name, value, expected) => {
  const header = new Headers({ [name]: value })
  adjustHeaders(header)
  expect(header.get(name)).toBe(expected)
})
