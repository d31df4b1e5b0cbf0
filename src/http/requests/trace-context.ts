/**
 * The trace that a request belongs to, as its sender says (https://www.w3.org/TR/trace-context/, `traceparent`).
 */

/** The caller's place in a trace. */
export interface TraceParent {
  /** 32 lowercase hexadecimal digits, not all zero. */
  readonly traceId: string
  /** The span of the caller: 16 lowercase hexadecimal digits, not all zero. */
  readonly parentId: string
  /** 0 to 255. Bit 0: the caller may have recorded the trace. */
  readonly flags: number
}

/** Version, trace id, parent id, flags, and what a later version may have after them. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ALL_ZERO = /^0+$/
const INVALID_VERSION = 'ff'

/**
 * Reads the header, strictly for version 00, and the part that every later version must keep for others (§3.2.4).
 *
 * @returns Undefined if there is none or it means nothing, which is to be treated like none.
 */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const match = header === undefined ? null : FORM.exec(header)
  if (match === null) return undefined
  const [, version = '', traceId = '', parentId = '', flags = '', rest] = match
  if (version === INVALID_VERSION || (version === '00' && rest !== undefined)) return undefined
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(parentId)) return undefined
  return { traceId, parentId, flags: Number.parseInt(flags, 16) }
}
