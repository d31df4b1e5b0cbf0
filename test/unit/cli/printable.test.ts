import { describe, expect, it } from '@jest/globals'
import { printable, printableLines } from '../../../src/cli/printable.ts'

describe('text of others in what a person reads', () => {
  it('has its control characters and line ends as escape sequences', () => {
    expect(printable('a\u001b[2Jb\nc\u009b31md\u202ee\u2028f')).toBe('a\\u001b[2Jb\\u000ac\\u009b31md\\u202ee\\u2028f')
    expect(printable('Zoë – 🙂')).toBe('Zoë – 🙂')
  })

  it('cannot clear or conceal anything among the lines and colours of a command', () => {
    const line = '\u001b[1mKEY\u001b[22m\ncreated \u001b[8mhidden\u001b]0;title\u0007'
    expect(printableLines(line)).toBe('\u001b[1mKEY\u001b[22m\ncreated \\u001b[8mhidden\\u001b]0;title\\u0007')
  })
})
