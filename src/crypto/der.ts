/** Reads DER (X.690), as far as certificates need it: tags of one byte, definite lengths in their shortest form. */

export interface DerValue {
  readonly tag: number
  readonly content: Buffer
}

/** Tags of universal types, and of context-specific ones. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  ia5String: 0x16,
  sequence: 0x30,
  set: 0x31,
} as const

/** A tag that only the context gives a meaning to. */
export function contextTag(number: number, kind: 'primitive' | 'constructed'): number {
  return 0x80 | (kind === 'constructed' ? 0x20 : 0) | number
}

/** All values that follow each other in the bytes. @throws {Error} if they are no DER. */
export function readDer(bytes: Buffer): DerValue[] {
  const values: DerValue[] = []
  for (let at = 0; at < bytes.length; ) {
    const [header, length] = readHeader(bytes, at)
    const end = at + header + length
    if (end > bytes.length) throw new Error('a value is longer than what it is in')
    values.push({ tag: bytes.readUInt8(at), content: bytes.subarray(at + header, end) })
    at = end
  }
  return values
}

/** The values in one with this tag. @throws {Error} if it has another one, or there is none. */
export function valuesIn(value: DerValue | undefined, tag: number): DerValue[] {
  return readDer(contentOf(value, tag))
}

/** The content of a value with this tag. @throws {Error} if it has another one, or there is none. */
export function contentOf(value: DerValue | undefined, tag: number): Buffer {
  if (value?.tag !== tag) throw new Error('a value is missing, or has another type')
  return value.content
}

/** An object identifier in its dotted form. @throws {Error} if it is none. */
export function objectIdentifierOf(value: DerValue | undefined): string {
  const content = contentOf(value, TAG.objectIdentifier)
  const numbers: number[] = []
  let number = 0
  for (const byte of content) {
    number = number * 0x80 + (byte & 0x7f)
    if (number > Number.MAX_SAFE_INTEGER / 0x80) throw new Error('an object identifier has a number that is too large')
    if ((byte & 0x80) !== 0) continue
    numbers.push(number)
    number = 0
  }
  const [first, ...others] = numbers
  if (first === undefined || (content.at(-1) ?? 0x80) >= 0x80) throw new Error('an object identifier is not complete')
  const root = Math.min(Math.floor(first / 40), 2)
  return [root, first - root * 40, ...others].join('.')
}

/** The length of tag and length, and the length of the content. */
function readHeader(bytes: Buffer, at: number): readonly [header: number, length: number] {
  if ((bytes.readUInt8(at) & 0x1f) === 0x1f) throw new Error('a tag has more than one byte')
  const first = bytes.readUInt8(at + 1)
  if (first < 0x80) return [2, first]
  const size = first & 0x7f
  if (size < 1 || size > 3) throw new Error('a length is indefinite or too large')
  const length = bytes.readUIntBE(at + 2, size)
  if (length < 0x80 || length < 2 ** (8 * (size - 1))) throw new Error('a length is not in its shortest form')
  return [2 + size, length]
}
