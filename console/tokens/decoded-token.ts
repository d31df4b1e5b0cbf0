/**
 * What a token says, without verifying it.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose'

/** A JWT, decoded. */
export interface DecodedToken {
  readonly text: string
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** Decodes a JWT. Undefined: it is none. */
export function decodeToken(given: string): DecodedToken | undefined {
  const text = given.trim()
  try {
    return { text, header: { ...decodeProtectedHeader(text) }, claims: decodeJwt(text) }
  } catch {
    return undefined
  }
}

/** So many levels of a value are shown. */
const LEVELS = 20

/** A value of a token as text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(withoutDepths(value, LEVELS), null, 1) ?? 'none')
}

/** A stranger may have nested it deeper than a stack goes. */
function withoutDepths(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return '…'
  if (Array.isArray(value)) return value.map((item) => withoutDepths(item, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutDepths(item, levels - 1)]))
}
