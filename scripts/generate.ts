/**
 * Makes `gen/` from `proto/`: the code of the server, the proto files for clients in `gen/proto/`, and `gen/openapi.json`. The JSON schema of
 * configuration files comes from `src/configuration-files/`.
 *
 * Takes the folder to make `gen/` in, which is the project's unless it is named.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVersion } from '../src/config/version.ts'

const folder = process.argv[2] ?? '.'

buf('generate', '--output', folder)
buf('generate', '--output', folder, '--template', 'buf.gen.client.yaml')
buf('generate', '--output', folder, '--template', 'buf.gen.openapi.yaml')
// Google's files have the options for languages already, and are kept as published.
buf('export', 'proto', '--path', 'proto/google/rpc', '--output', join(folder, 'gen/proto'))
writeFileSync(
  join(folder, 'gen/proto/buf.yaml'),
  `# Makes this folder a module of buf, which others can export, build and import from.
version: v2
lint:
  use:
    - STANDARD
  ignore:
    # As Google publishes it.
    - google
`,
)
// Loaded here, not above: it is made of the generated code too.
const { configurationJsonSchema } = await import('../src/configuration-files/json-schema.ts')
writeFileSync(
  join(folder, 'gen/configuration.schema.json'),
  `${JSON.stringify(configurationJsonSchema(readVersion()), null, 2)}\n`,
)

function buf(...args: string[]): void {
  execFileSync('buf', args, { stdio: 'inherit' })
}
