/** W3C Trace Context (https://www.w3.org/TR/trace-context/): parses the `traceparent` header of a request. */

/** The caller's span in a trace. */
export interface TraceParent {
  /** 32 lowercase hexadecimal digits, not all zero. */
  readonly traceId: string
  /** The span of the caller: 16 lowercase hexadecimal digits, not all zero. */
  readonly parentId: string
  /** 0 to 255. Bit 0: the caller may have recorded the trace. */
  readonly flags: number
}

/** Version, trace id, parent id, flags, and a suffix that a later version may add. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ALL_ZERO = /^0+$/
const INVALID_VERSION = 'ff'

/**
 * Parses the header: version 00 strictly, of a later version the part that it must keep (§3.2.4).
 *
 * @returns Undefined if the header is missing or invalid.
 */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const match = header === undefined ? null : FORM.exec(header)
  if (match === null) return undefined
  const [, version = '', traceId = '', parentId = '', flags = '', rest] = match
  if (version === INVALID_VERSION || (version === '00' && rest !== undefined)) return undefined
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(parentId)) return undefined
  return { traceId, parentId, flags: Number.parseInt(flags, 16) }
}
