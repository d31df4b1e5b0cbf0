import { describe, expect, it } from '@jest/globals'
import { isUnchanged } from '../../../src/domain/http-headers.ts'

describe('the copy of a client [RFC 9110 §13.1.2]', () => {
  it.each(['"x"', 'W/"x"', '"a", "x"', '"a",W/"x" , "b"', '*', ' * '])('is current by If-None-Match: %s', (header) => {
    expect(isUnchanged(header, '"x"')).toBe(true)
  })

  it.each([undefined, '', '"y"', 'x', '"xx"', 'W/"y"', '"a", "b"', 'w/"x"'])('is not by %s', (header) => {
    expect(isUnchanged(header, '"x"')).toBe(false)
  })
})
