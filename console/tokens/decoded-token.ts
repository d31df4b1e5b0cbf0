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

function objectIn(part: string): Record<string, unknown> {
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(part)))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('not an object')
  return value as Record<string, unknown>
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const base64 = base64url.replaceAll('-', '+').replaceAll('_', '/')
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
