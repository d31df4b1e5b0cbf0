/**
 * What a token says, without verifying it.
 */

/** A JWT, decoded. */
export interface DecodedToken {
  readonly text: string
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  /** What the signature covers. */
  readonly signed: Uint8Array<ArrayBuffer>
  readonly signature: Uint8Array<ArrayBuffer>
}

/** Decodes a JWT. Undefined: it is none. */
export function decodeToken(text: string): DecodedToken | undefined {
  const parts = text.trim().split('.')
  const [header, claims, signature] = parts
  if (header === undefined || claims === undefined || signature === undefined || parts.length !== 3) return undefined
  try {
    return {
      text: parts.join('.'),
      header: objectIn(header),
      claims: objectIn(claims),
      signed: new TextEncoder().encode(`${header}.${claims}`),
      signature: bytesOf(signature),
    }
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

function objectIn(part: string): Record<string, unknown> {
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(part)))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('not an object')
  return value as Record<string, unknown>
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const base64 = base64url.replaceAll('-', '+').replaceAll('_', '/')
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
