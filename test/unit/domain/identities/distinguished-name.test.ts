import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  type DistinguishedName,
  formatDistinguishedName,
  parseDistinguishedName,
} from '../../../../src/domain/identities/distinguished-name.ts'

const canonical = (text: string) => {
  const name = parseDistinguishedName(text)
  return name && formatDistinguishedName(name)
}

describe('a distinguished name', () => {
  it.each([
    // RFC 4514 §4.
    ['UID=jsmith,DC=example,DC=net', 'UID=jsmith,DC=example,DC=net'],
    ['OU=Sales+CN=J.  Smith,DC=example,DC=net', 'CN=J.  Smith+OU=Sales,DC=example,DC=net'],
    ['CN=James \\"Jim\\" Smith\\, III,DC=example,DC=net', 'CN=James \\"Jim\\" Smith\\, III,DC=example,DC=net'],
    ['CN=Before\\0dAfter,DC=example,DC=net', 'CN=Before\\0DAfter,DC=example,DC=net'],
    ['CN=Lu\\C4\\8Di\\C4\\87', 'CN=Lučić'],
    ['cn=a, o = Shop', 'CN=a,O=Shop'],
    ['2.5.4.3=a,1.2.3=b', 'CN=a,1.2.3=b'],
    ['CN=\\ a\\ ,O=\\#b', 'CN=\\ a\\ ,O=\\#b'],
    ['CN=a=b', 'CN=a=b'],
    ['CN=a\\2cO=b', 'CN=a\\,O=b'],
    ['CN=a\\\\,O=b', 'CN=a\\\\,O=b'],
  ])('%s has one spelling', (text, spelling) => {
    expect(canonical(text)).toBe(spelling)
    expect(canonical(spelling)).toBe(spelling)
  })

  it.each([
    '',
    'a',
    'CN=',
    'CN=a,',
    'CN=a;O=b',
    'CN="a"',
    'CN=a\\',
    'CN=\\FF',
    'CN=a\0',
    'CN=#0402',
    'X=a',
    '/C=DE/CN=a',
    '__proto__=a',
  ])('is not %j', (text) => {
    expect(canonical(text)).toBeUndefined()
  })

  it('has another text than every other name', () => {
    const value = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }).filter((text) => text.isWellFormed())
    const tricky = fc.constantFrom(' ', ',', '+', '=', '\\', '#', '"', '\0', 'CN=', ',O=a', ' a ', '\\2c')
    const attribute = fc.record({
      type: fc.constantFrom('2.5.4.3', '2.5.4.10', '1.2.3'),
      value: fc.oneof(value, tricky),
    })
    const name = fc.array(fc.array(attribute, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 })
    const sorted = (given: DistinguishedName) =>
      given.map((part) => part.map(({ type, value: text }) => JSON.stringify([type, text])).sort())
    fc.assert(
      fc.property(name, (given) => {
        expect(sorted(parseDistinguishedName(formatDistinguishedName(given))!)).toEqual(sorted(given))
      }),
    )
  })
})
