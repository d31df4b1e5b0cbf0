/**
 * Distinguished names of certificates as text (RFC 4514), in one spelling for each name, so that names are equal if their texts are.
 *
 * Values are compared exactly: with their case and their blanks.
 */

/** One attribute, by the object identifier of its type. */
export interface NameAttribute {
  readonly type: string
  readonly value: string
}

/** As RFC 4514 orders it: the leaf of the directory first. Most parts have one attribute. */
export type DistinguishedName = readonly (readonly NameAttribute[])[]

/** Types by their names: those of RFC 4514 §3, and two that authorities use often, as OpenSSL calls them. */
const TYPES: Readonly<Record<string, string>> = {
  CN: '2.5.4.3',
  L: '2.5.4.7',
  ST: '2.5.4.8',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  C: '2.5.4.6',
  STREET: '2.5.4.9',
  DC: '0.9.2342.19200300.100.1.25',
  UID: '0.9.2342.19200300.100.1.1',
  serialNumber: '2.5.4.5',
  emailAddress: '1.2.840.113549.1.9.1',
}

const NAMES = new Map(Object.entries(TYPES).map(([name, type]) => [type, name]))
const TYPES_IN_ANY_LETTERS = new Map(Object.entries(TYPES).map(([name, type]) => [name.toUpperCase(), type]))

/** An attribute with the separator behind it: type, value with its escapes, separator. */
const ATTRIBUTE =
  /\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+) *=((?:[^\\",;+<>\0]|\\[0-9A-Fa-f]{2}|\\[ "#+,;<=>\\])*)(,|\+|$)/y

const CHARACTER = /\\[0-9A-Fa-f]{2}|\\.|[^\\]/gsu

const SPECIAL = /[\\",;+<>]|^[ #]| $/g
const CONTROL = /[\p{Cc}]/gu

/** Undefined if the text is no distinguished name. Values in hexadecimal (`#04…`) are not understood. */
export function parseDistinguishedName(text: string): DistinguishedName | undefined {
  const parts: NameAttribute[][] = [[]]
  for (let at = 0; ; ) {
    ATTRIBUTE.lastIndex = at
    const [found, name = '', raw = '', separator] = ATTRIBUTE.exec(text) ?? []
    const type = TYPES_IN_ANY_LETTERS.get(name.toUpperCase()) ?? (/^\d/.test(name) ? name : undefined)
    const value = parseValue(raw)
    if (found === undefined || type === undefined || value === undefined) return undefined
    parts.at(-1)?.push({ type, value })
    at += found.length
    if (separator === '') return parts
    if (separator === ',') parts.push([])
  }
}

export function formatDistinguishedName(name: DistinguishedName): string {
  return name
    .map((part) =>
      part
        .map(({ type, value }) => `${NAMES.get(type) ?? type}=${formatValue(value)}`)
        .sort()
        .join('+'),
    )
    .join(',')
}

function parseValue(raw: string): string | undefined {
  const characters = raw.match(CHARACTER) ?? []
  while (characters[0] === ' ') characters.shift()
  while (characters.at(-1) === ' ') characters.pop()
  if (characters.length === 0 || characters[0] === '#') return undefined
  try {
    return decodeURIComponent(characters.map(percentEncoded).join(''))
  } catch {
    // No UTF-8.
    return undefined
  }
}

function percentEncoded(character: string): string {
  if (!character.startsWith('\\')) return encodeURIComponent(character)
  return character.length === 3 ? `%${character.slice(1)}` : encodeURIComponent(character.slice(1))
}

function formatValue(value: string): string {
  return value.replace(SPECIAL, '\\$&').replace(CONTROL, hexadecimal)
}

function hexadecimal(character: string): string {
  return encodeURIComponent(character).replaceAll('%', '\\')
}
