/**
 * The JSON schema of configuration files, for editors: the message of the API, as `gen/openapi.json` describes it.
 */
const ROOT = 'iam.config.v2.ConfigurationInput'
const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g

type Schemas = Readonly<Record<string, object>>

/**
 * The schema, in draft 7, which all editors know.
 *
 * @param version The version of the package, which the id names.
 */
export function configurationSchema(openApi: { readonly components: { readonly schemas: Schemas } }, version: string) {
  const { schemas } = openApi.components
  const names = new Set([ROOT])
  for (const name of names) {
    for (const [, other = ''] of JSON.stringify(schemas[name]).matchAll(REFERENCE)) names.add(other)
  }
  names.delete(ROOT)
  const definitions = Object.fromEntries([...names].sort().map((name) => [name, schemas[name]]))
  const text = JSON.stringify({ ...schemas[ROOT], definitions }).replaceAll(REFERENCE, '"#/definitions/$1"')
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: `https://raw.githubusercontent.com/keyturn/keyturn/v${version}/gen/configuration.schema.json`,
    title: 'A Keyturn configuration',
    ...(JSON.parse(text) as object),
  }
}
