/**
 * Converts ECDSA signatures from the DER of OpenSSL to the form of JOSE.
 *
 * Node converts too, but takes longer for that than for the signature.
 */

const SEQUENCE = 0x30
const INTEGER = 0x02
/** From here on a length takes more than one byte. Signatures need one more at most. */
const LONG_LENGTH = 0x81

/**
 * r and s side by side (RFC 7518 §3.4), from the DER of `ECDSA-Sig-Value` (RFC 3279 §2.2.3).
 *
 * @param size Of each of the two, in bytes.
 * @throws {Error} for anything else.
 */
export function toJoseSignature(der: Uint8Array, size: number): Uint8Array {
  const start = der[1] === LONG_LENGTH ? 3 : 2
  const signature = new Uint8Array(2 * size)
  const middle = copyInteger(der, start, signature.subarray(0, size))
  const end = copyInteger(der, middle, signature.subarray(size))
  if (der[0] !== SEQUENCE || der[start - 1] !== end - start || end !== der.length) throw notDer()
  return signature
}

/** Writes the integer at `at` to the end of `target`. @returns Where it ends. */
function copyInteger(der: Uint8Array, at: number, target: Uint8Array): number {
  const length = der[at + 1] ?? 0
  const end = at + 2 + length
  // One whose first bit is set has a zero before it, because it is positive.
  const skipped = Math.max(0, length - target.length)
  if (der[at] !== INTEGER || length === 0 || end > der.length || skipped > 1) throw notDer()
  if (skipped === 1 && der[at + 2] !== 0) throw notDer()
  target.set(der.subarray(at + 2 + skipped, end), target.length - (length - skipped))
  return end
}

function notDer(): Error {
  return new Error('this is not an ECDSA signature')
}
