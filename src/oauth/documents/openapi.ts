/**
 * The description of the API in OpenAPI 3.1, with the OAuth endpoints. `npm run generate` makes it; this fits it to the server.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const GENERATED = join(import.meta.dirname, '../../../gen/openapi.json')

interface OpenApi {
  servers: readonly { readonly url: string }[]
  tags: readonly { readonly name: string }[]
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { schemas: Readonly<Record<string, unknown>> }
}

interface Operation {
  readonly tags: readonly string[]
  readonly deprecated?: boolean
}

/**
 * The description of a server.
 *
 * @param options `servesDeprecated`: whether deprecated services are served. Otherwise they are left out.
 */
export function openApiDocument(
  baseUrl: string,
  { servesDeprecated }: { readonly servesDeprecated: boolean },
): Record<string, unknown> {
  const document: OpenApi = JSON.parse(readFileSync(GENERATED, 'utf8'))
  document.servers = [{ url: baseUrl }]
  if (!servesDeprecated) leaveOutDeprecated(document)
  return { ...document }
}

function leaveOutDeprecated(document: OpenApi): void {
  const { paths, components, tags } = document
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.values(item).map((operation) => ({ ...operation, path })),
  )
  const gone = operations.filter(({ deprecated }) => deprecated)
  // `/iam.webkey.v2beta.WebKeyService/CreateWebKey` belongs to `iam.webkey.v2beta.`, and so do the messages of the service.
  const packages = gone.map(({ path }) => path.slice(1, path.lastIndexOf('.') + 1))
  const isGone = (name: string): boolean => packages.some((prefix) => name.startsWith(prefix))
  document.paths = without(paths, (path) => isGone(path.slice(1)))
  components.schemas = without(components.schemas, isGone)
  document.tags = tags.filter(({ name }) => !gone.some((operation) => operation.tags.includes(name)))
}

function without<Value>(
  entries: Readonly<Record<string, Value>>,
  isGone: (name: string) => boolean,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => !isGone(name)))
}
