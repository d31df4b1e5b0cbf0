/**
 * What of a value is not the JSON form of a message, and where. `fromJson` reads the same, but ends at the first mistake and names no place.
 *
 * No message has a part of the value, which may be a secret that stands there by mistake.
 */
import { type DescField, type DescMessage, fromJson, type JsonValue, ScalarType } from '@bufbuild/protobuf'
import type { ValuePath } from './source-documents.ts'

/** A part of a value that cannot be read. */
export interface DecodingMistake {
  readonly path: ValuePath
  /** Whether the key is wrong, and not the value behind it. */
  readonly part: 'key' | 'value'
  readonly message: string
}

const WELL_KNOWN: Readonly<Record<string, string>> = {
  'google.protobuf.Duration': 'a length of time in seconds, such as 300s',
  'google.protobuf.Timestamp': 'a time as in RFC 3339, such as 2027-01-31T00:00:00Z',
}

/** All of them. None: `fromJson` takes the value. */
export function decodingMistakes(type: DescMessage, value: unknown, path: ValuePath = []): DecodingMistake[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [wrongValue(path, 'an object')]
  const found = Object.entries(value).flatMap(([key, member]): DecodingMistake[] => {
    const at = [...path, key]
    const field = type.fields.find(({ name, jsonName }) => key === jsonName || key === name)
    if (field === undefined) return [{ path: at, part: 'key', message: 'there is no such field' }]
    if (member === null) return []
    if (field.fieldKind !== 'list') return mistakesIn(type, field, { value: member, path: at })
    if (!Array.isArray(member)) return [wrongValue(at, 'a list')]
    return member.flatMap((item, index) => mistakesIn(type, field, { value: item, path: [...at, index] }))
  })
  if (found.length > 0 || isDecodable(type, value)) return found
  return [{ path, part: 'value', message: 'it has two fields of which it may have one' }]
}

/** In the value of a field, or in an item of its list. */
function mistakesIn(
  type: DescMessage,
  field: DescField,
  { value, path }: { readonly value: unknown; readonly path: ValuePath },
): DecodingMistake[] {
  const { message, jsonName } = field
  if (message !== undefined && !(message.typeName in WELL_KNOWN)) return decodingMistakes(message, value, path)
  const isRead = isDecodable(type, { [jsonName]: field.fieldKind === 'list' ? [value] : value })
  return isRead ? [] : [wrongValue(path, wordsFor(field, value))]
}

function isDecodable(type: DescMessage, value: object): boolean {
  try {
    fromJson(type, value as JsonValue)
    return true
  } catch {
    return false
  }
}

function wrongValue(path: ValuePath, expected: string): DecodingMistake {
  return { path, part: 'value', message: `it must be ${expected}` }
}

function wordsFor({ message, enum: names, scalar }: DescField, value: unknown): string {
  if (message !== undefined) return WELL_KNOWN[message.typeName] ?? 'an object'
  const choices = names?.values.slice(1).map(({ name }) => name)
  if (choices !== undefined) return `one of ${choices.join(', ')}`
  if (scalar === ScalarType.BOOL) return 'true or false'
  if (scalar !== ScalarType.STRING) return 'a whole number'
  return typeof value === 'object' ? 'a string' : 'a string: put it in quotes'
}
