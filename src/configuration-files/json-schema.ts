/**
 * The JSON schema of one document, for editors: draft 7, which all of them know.
 */
import { z } from 'zod'
import { configurationDocument } from './schema.ts'

/** A schema of one kind, as zod writes it. */
interface KindSchema {
  readonly properties: { readonly kind: { readonly const: string } }
}

/**
 * The schema. A document is checked by the schema of its kind, and not against those of all kinds as with `oneOf`: then each mistake would be
 * four.
 *
 * @param version The version of the package, which the id names.
 */
export function configurationJsonSchema(version: string): object {
  const written = z.toJSONSchema(configurationDocument, { io: 'input', target: 'draft-7' })
  const { $schema, oneOf = [], ...definitions } = written
  const kinds = oneOf as unknown as readonly KindSchema[]
  return {
    $schema,
    $id: `https://raw.githubusercontent.com/keyturn/keyturn/v${version}/gen/configuration.schema.json`,
    title: 'A document of a Keyturn configuration',
    type: 'object',
    properties: { kind: { description: 'What it describes.', enum: kinds.map(kindOf) } },
    required: ['kind'],
    allOf: kinds.map((kind) => ({
      if: { properties: { kind: { const: kindOf(kind) } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON schema.
      then: kind,
    })),
    ...definitions,
  }
}

function kindOf({ properties }: KindSchema): string {
  return properties.kind.const
}
