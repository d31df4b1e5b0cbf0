/**
 * The compact serialization of a JWS: three parts in base64url without padding (RFC 7515 §2, §7.1).
 *
 * Decoders of base64url accept more: padding, and any bits behind the last whole byte. With them a signature has several
 * spellings, and a token on a deny list would pass in another spelling.
 */

const BASE64URL = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/

/** Whether the text is three parts, each in the canonical spelling of its bytes. */
export function isCompactJws(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 3 && parts.every((part) => part !== '' && BASE64URL.test(part))
}
