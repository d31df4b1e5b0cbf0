import { describe, expect, it } from '@jest/globals'
import { printable, visible } from '../../../src/domain/printable.ts'

describe('text of others in what a person reads', () => {
  it('has its control characters and line ends as escape sequences in a terminal', () => {
    expect(printable('a\u001b[2Jb\nc\u009b31md\u202ee\u2028f')).toBe('a\\u001b[2Jb\\u000ac\\u009b31md\\u202ee\\u2028f')
    expect(visible('a\nb\tc')).toBe('a\nb\tc')
  })

  it.each([
    ['a soft hyphen', '\u00ad', '\\u00ad'],
    ['a zero-width space', '\u200b', '\\u200b'],
    ['a zero-width joiner', '\u200d', '\\u200d'],
    ['a right-to-left mark', '\u200f', '\\u200f'],
    ['an Arabic letter mark', '\u061c', '\\u061c'],
    ['a right-to-left override', '\u202e', '\\u202e'],
    ['an isolate', '\u2067', '\\u2067'],
    ['a word joiner', '\u2060', '\\u2060'],
    ['a byte order mark', '\ufeff', '\\ufeff'],
    ['a Hangul filler', '\u3164', '\\u3164'],
    ['a variation selector', '\ufe0f', '\\ufe0f'],
    ['a tag', '\u{e0041}', '\\udb40\\udc41'],
    ['a separator of paragraphs', '\u2029', '\\u2029'],
  ])('has %s as an escape sequence everywhere', (_, character, shown) => {
    for (const show of [printable, visible]) expect(show(`a${character}b`)).toBe(`a${shown}b`)
  })

  it('is as it was if all of it can be seen', () => {
    for (const show of [printable, visible]) expect(show('Zoë – 管理者 🙂 مدير')).toBe('Zoë – 管理者 🙂 مدير')
  })
})
