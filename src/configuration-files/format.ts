import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { Document, stringify, visit } from 'yaml'
import { printable } from '../domain/printable.ts'

/** Ends with a line break. What a terminal would not show stands as an escape sequence, which JSON and the double quotes of YAML both have. */
export function formatFile(json: JsonObject, format: 'yaml' | 'json'): string {
  const text = format === 'json' ? `${JSON.stringify(json, null, 2)}\n` : toYaml(json)
  return text.split('\n').map(printable).join('\n')
}

/** For programs, without a line break at its end: each string is a JSON string, which all parsers of YAML 1.1 and 1.2 read alike. */
export function formatYaml(json: JsonValue): string {
  return stringify(json, {
    compat: 'yaml-1.1',
    defaultKeyType: 'PLAIN',
    defaultStringType: 'QUOTE_DOUBLE',
    doubleQuotedAsJSON: true,
    lineWidth: 0,
  }).trimEnd()
}

function toYaml(json: JsonObject): string {
  const document = new Document(json, { version: '1.2' })
  visit(document, {
    Scalar(_, node) {
      const lines = typeof node.value === 'string' ? node.value.split('\n') : []
      if (lines.some((line) => printable(line) !== line)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0 })
}
