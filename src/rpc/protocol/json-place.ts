/**
 * Finds the field of a JSON message that does not decode, for error messages: decoding stops at the first mistake and
 * often names only the type of what it expected.
 */
import { type DescMessage, fromJson, type JsonValue } from '@bufbuild/protobuf'

/** The path of the first field that does not decode on its own, for example `config.rsa.bits`; empty if none does. */
export function placeOfMistake(type: DescMessage, json: JsonValue): string {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return ''
  for (const [name, value] of Object.entries(json)) {
    const field = type.fields.find((candidate) => candidate.jsonName === name || candidate.name === name)
    if (field === undefined || decodes(type, { [name]: value })) continue
    const inner = field.fieldKind === 'message' ? placeOfMistake(field.message, value) : ''
    return inner === '' ? field.name : `${field.name}.${inner}`
  }
  return ''
}

function decodes(type: DescMessage, json: JsonValue): boolean {
  try {
    fromJson(type, json)
    return true
  } catch {
    return false
  }
}
