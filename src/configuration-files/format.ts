import type { JsonObject } from '@bufbuild/protobuf'
import { Document, visit } from 'yaml'
import { printable } from '../domain/printable.ts'

/** Ends with a line break. What a terminal would not show stands as an escape sequence, which JSON and the double quotes of YAML both have. */
export function formatFile(json: JsonObject, format: 'yaml' | 'json'): string {
  const text = format === 'json' ? `${JSON.stringify(json, null, 2)}\n` : toYaml(json)
  return text.split('\n').map(printable).join('\n')
}

function toYaml(json: JsonObject): string {
  const document = new Document(json, { version: '1.2' })
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && isConcealing(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0 })
}

/** Lines may stand as lines. */
function isConcealing(text: string): boolean {
  return text.split('\n').some((line) => printable(line) !== line)
}
