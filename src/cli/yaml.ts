/**
 * JSON as YAML 1.2 in block style. All that is not plainly a word is a double-quoted scalar, which JSON's strings are.
 *
 * The commands print a few maps, lists and scalars; the library for configuration files would be loaded for each of them.
 */
import type { JsonValue } from '@bufbuild/protobuf'

/** Words that need no quotes: they begin with a letter, and hold nothing that YAML gives a meaning to. */
const WORD = /^[A-Za-z][A-Za-z0-9_./@+-]*$/

/** Words that YAML 1.1 or 1.2 reads as something else than a string. Some parsers take `e0` for a number. */
const RESERVED = /^(?:null|true|false|yes|no|on|off|y|n|e[-+]?[\d_]+)$/i

/** The text, without a line break at its end. */
export function formatYaml(value: JsonValue): string {
  return linesOf(value).join('\n')
}

function linesOf(value: JsonValue): string[] {
  if (Array.isArray(value)) {
    return value.length === 0 ? ['[]'] : value.flatMap((item) => nested('- ', '  ', linesOf(item)))
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
    return entries.length === 0 ? ['{}'] : entries.flatMap(([key, item]) => entryOf(key, item))
  }
  return [typeof value === 'string' ? scalarOf(value) : JSON.stringify(value)]
}

function entryOf(key: string, value: JsonValue): string[] {
  const lines = linesOf(value)
  const isCollection = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  if (!isCollection) return [`${scalarOf(key)}: ${lines[0]}`]
  return [`${scalarOf(key)}:`, ...lines.map((line) => `  ${line}`)]
}

function nested(first: string, rest: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `${index === 0 ? first : rest}${line}`)
}

function scalarOf(text: string): string {
  return WORD.test(text) && !RESERVED.test(text) ? text : quoted(text)
}

/** JSON leaves characters alone that YAML does not allow, or reads as line breaks (YAML 1.2 §5.1, §5.4). */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
