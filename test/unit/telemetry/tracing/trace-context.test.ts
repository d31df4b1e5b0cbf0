import { describe, expect, it } from '@jest/globals'
import { parseTraceparent } from '../../../../src/telemetry/tracing/trace-context.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

describe('a traceparent header', () => {
  it('names the trace, the span of the caller and its flags', () => {
    expect(parseTraceparent(`00-${TRACE}-${PARENT}-01`)).toEqual({ traceId: TRACE, parentId: PARENT, flags: 1 })
    expect(parseTraceparent(`00-${TRACE}-${PARENT}-00`)?.flags).toBe(0)
    expect(parseTraceparent(`00-${TRACE}-${PARENT}-ff`)?.flags).toBe(255)
  })

  it.each([`01-${TRACE}-${PARENT}-01`, `cc-${TRACE}-${PARENT}-01-`, `cc-${TRACE}-${PARENT}-01-what-the-future-brings`])(
    'of a later version is read as far as it is known: %s',
    (header) => {
      expect(parseTraceparent(header)).toEqual({ traceId: TRACE, parentId: PARENT, flags: 1 })
    },
  )

  it.each([
    undefined,
    '',
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01\n`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  ])('that is not valid counts as none: %j', (header) => {
    expect(parseTraceparent(header)).toBeUndefined()
  })
})
