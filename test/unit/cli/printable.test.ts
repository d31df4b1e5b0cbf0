import { describe, expect, it } from '@jest/globals'
import { printableLines } from '../../../src/cli/output.ts'

describe('text of others in what a command prints', () => {
  it('cannot clear or conceal anything among the lines and colours of a command', () => {
    const line = '\u001b[1mKEY\u001b[22m\ncreated \u001b[8mhidden\u001b]0;title\u0007'
    expect(printableLines(line)).toBe('\u001b[1mKEY\u001b[22m\ncreated \\u001b[8mhidden\\u001b]0;title\\u0007')
  })
})
