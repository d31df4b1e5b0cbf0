import { describe, expect, it } from '@jest/globals'
import { readCookie, setCookie } from '../../../../src/rpc/console/cookies.ts'

describe('the cookie of a session', () => {
  it.each([
    ['alone', 'keyturn_console=abc', 'abc'],
    ['among others', 'a=b; keyturn_console=abc;c=d', 'abc'],
    ['not there', 'a=b', undefined],
    ['no header', undefined, undefined],
    ['empty', 'keyturn_console=', ''],
    ['without a value', 'keyturn_console', undefined],
    ['of another name', 'keyturn_console_sign_in=abc; xkeyturn_console=d', undefined],
    ['of the name in capitals', 'KEYTURN_CONSOLE=abc', undefined],
    ['twice', 'keyturn_console=abc; keyturn_console=def', undefined],
    ['twice the same', 'keyturn_console=abc; keyturn_console=abc', undefined],
  ])('%s', (_, header, expected) => {
    expect(readCookie(header)).toBe(expected)
  })

  it('is sent over TLS only where browsers use https', () => {
    expect([true, false].map((isSecure) => setCookie('abc', isSecure).endsWith('; Secure'))).toEqual([true, false])
  })
})
