/**
 * `keyturn export`: an instance, or some projects of it, as a file of a configuration.
 */
import { create, type JsonObject, toJson } from '@bufbuild/protobuf'
import { Command, Option } from 'commander'
import { ConfigService } from '../../../gen/iam/config/v2/config_service_pb.js'
import { ConfigurationSchema } from '../../../gen/iam/config/v2/configuration_pb.js'
import { formatFile } from '../../configuration-files/format.ts'
import { openApi } from '../api.ts'
import type { ConnectionOptions } from '../connection/target.ts'
import type { Io } from '../io.ts'
import { withConnectionOptions } from '../options.ts'
import { labelOption, repeatable } from './plan-command.ts'

interface ExportOptions extends ConnectionOptions {
  readonly project?: readonly string[]
  readonly label?: string
  readonly output?: 'yaml' | 'json'
  readonly json?: true
}

export function exportCommand(io: Io): Command {
  return withConnectionOptions(new Command('export'))
    .addOption(repeatable('--project <name>', 'only this project and its users; may be given several times'))
    .addOption(labelOption('only what has this label'))
    .addOption(new Option('--output <format>', 'how to print it (default: yaml)').choices(['yaml', 'json']))
    .addOption(new Option('--json', 'short for --output json').conflicts('output'))
    .action(async ({ project = [], label = '', output, json, ...options }: ExportOptions) => {
      const api = await openApi(io, options)
      const asked = { projects: [...project], label }
      const response = await api.call(ConfigService.method.exportConfiguration, asked)
      const configuration = response.configuration ?? create(ConfigurationSchema)
      const missing = project.find((name) => !configuration.projects.some((exported) => exported.name === name))
      if (missing !== undefined) {
        const labelled = label === '' ? '' : ` with the label ${label}`
        throw new Error(`there is no project ${JSON.stringify(missing)}${labelled}`)
      }
      const exported = toJson(ConfigurationSchema, configuration) as JsonObject
      if (Object.keys(exported).length === 0 && label !== '') throw new Error(`nothing has the label ${label}`)
      io.stdout.write(formatFile(exported, json === true ? 'json' : (output ?? 'yaml')))
    })
}
