/**
 * The JSON schema of one document, for editors: draft 7, which all of them know.
 */
import { z } from 'zod'
import { configurationDocument } from './schema.ts'

/** @param version The version of the package, which the id names. */
export function configurationJsonSchema(version: string): object {
  const { $schema, ...schema } = z.toJSONSchema(configurationDocument, { io: 'input', target: 'draft-7' })
  return {
    $schema,
    $id: `https://raw.githubusercontent.com/keyturn/keyturn/v${version}/gen/configuration.schema.json`,
    title: 'A document of a Keyturn configuration',
    ...schema,
  }
}
