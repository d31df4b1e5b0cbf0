/**
 * Documents as the text of a file.
 */
import type { JsonObject } from '@bufbuild/protobuf'
import { stringify } from 'yaml'

/** YAML with one document each, or a JSON array. Ends with a line break. */
export function formatDocuments(documents: readonly JsonObject[], format: 'yaml' | 'json'): string {
  if (format === 'json') return `${JSON.stringify(documents, null, 2)}\n`
  return documents.map((document) => stringify(document, { lineWidth: 0, version: '1.2' })).join('---\n')
}
