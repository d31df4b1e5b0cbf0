/**
 * The description of the API in OpenAPI 3.1, with the OAuth endpoints. `npm run generate` makes it (decision 26); here it is fitted to the
 * server.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const GENERATED = join(import.meta.dirname, '../../../gen/openapi.json')

const CONSOLE_SERVICE = '/iam.console.v2.ConsoleService/'

type Named<Value> = Readonly<Record<string, Value>>

interface OpenApi {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Named<Named<Operation>>
}

interface Operation {
  readonly tags: readonly string[]
  readonly deprecated?: boolean
}

/** What a server serves of what can be switched off. What it does not is left out. */
export interface ServedParts {
  readonly servesDeprecated: boolean
  readonly servesConsole: boolean
}

/** The description of a server. Reads and parses the file, so it is called once. */
export function openApiDocument(baseUrl: string, { servesDeprecated, servesConsole }: ServedParts): Named<unknown> {
  const generated = JSON.parse(readFileSync(GENERATED, 'utf8')) as OpenApi
  const served = Object.entries(generated.paths).filter(
    ([path, methods]) =>
      (servesDeprecated || !Object.values(methods).some(({ deprecated }) => deprecated)) &&
      (servesConsole || !path.startsWith(CONSOLE_SERVICE)),
  )
  const used = new Set(served.flatMap(([, methods]) => Object.values(methods).flatMap(({ tags }) => tags)))
  const tags = generated.tags.filter(({ name }) => used.has(name))
  return { ...generated, tags, paths: Object.fromEntries(served), servers: [{ url: baseUrl }] }
}
