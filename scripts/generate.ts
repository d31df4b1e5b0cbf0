/**
 * Makes `gen/` from `proto/`: the code of the server, the proto files for clients in `gen/proto/`, `gen/openapi.json`, and the
 * JSON schema of configuration files.
 *
 * Takes the folder to make `gen/` in, which is the project's unless it is named.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVersion } from '../src/config/version.ts'
import { configurationSchema } from './configuration-schema.ts'

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
const openApi = JSON.parse(readFileSync(join(folder, 'gen/openapi.json'), 'utf8'))
writeFileSync(
  join(folder, 'gen/configuration.schema.json'),
  `${JSON.stringify(configurationSchema(openApi, readVersion()), null, 2)}\n`,
)

function buf(...args: string[]): void {
  execFileSync('buf', args, { stdio: 'inherit' })
}
