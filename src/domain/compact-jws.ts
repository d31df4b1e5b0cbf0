/**
 * The form of a JWS that goes over the wire: three parts in base64url without padding (RFC 7515 §2, §7.1).
 *
 * Decoders of base64url take more: padding, other bits behind the last whole byte. Then one signature has several
 * spellings, and a token that was put on a list of refused ones passes in another spelling.
 */

/** Whole groups, and at the end one of 8 or 16 bits whose rest is zero (RFC 4648 §3.5). */
const BASE64URL = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/

/** Whether the text is three parts, each in the one spelling that its bytes have. */
export function isCompactJws(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 3 && parts.every((part) => part !== '' && BASE64URL.test(part))
}
