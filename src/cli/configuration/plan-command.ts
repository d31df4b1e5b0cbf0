/**
 * `keyturn plan`: the difference between an instance and the files of a configuration. `keyturn apply` begins with the same.
 */
import { Command, InvalidArgumentError } from 'commander'
import { ConfigService } from '../../../gen/iam/config/v2/config_service_pb.js'
import type { Configuration } from '../../../gen/iam/config/v2/configuration_pb.js'
import type { Plan } from '../../../gen/iam/config/v2/plan_pb.js'
import { parseConfiguration } from '../../configuration-files/configuration.ts'
import { ConfigurationMistakes } from '../../configuration-files/mistakes.ts'
import { readSourceFiles } from '../../configuration-files/source-files.ts'
import { type Api, openApi } from '../api.ts'
import { DIFFERENT, EndWith } from '../exit.ts'
import type { Io } from '../io.ts'
import { option, type RemoteOptions, UsageError, withRemoteOptions } from '../options.ts'
import { printResult, printWarnings } from '../output.ts'
import { type PlannedSecrets, planSecrets } from './client-secrets.ts'
import { formatPlan, planJson } from './plan-text.ts'

/** The values of the options that "keyturn plan" and "keyturn apply" share. */
export interface FileOptions extends RemoteOptions {
  readonly file?: readonly string[]
  readonly label: string
  readonly prune?: true
  readonly takeOver?: true
}

/** A plan, and what it was made of. */
export interface Planned {
  readonly api: Api
  /** What the server was asked. */
  readonly request: {
    readonly configuration: Configuration
    readonly label: string
    readonly prune: boolean
    readonly takeOver: boolean
  }
  readonly plan: Plan
  readonly secrets: PlannedSecrets
}

/** The command. */
export function planCommand(io: Io): Command {
  return withFileOptions(new Command('plan'))
    .option('--detailed-exitcode', 'exit with 0 without a difference, 1 after an error, 2 with a difference')
    .action(async (options: FileOptions & { readonly detailedExitcode?: true }) => {
      const planned = await planOf(io, options)
      await printResult(io, options, planJson(planned), () => formatPlan(planned, options.label, io))
      if (options.detailedExitcode === true && isDifferent(planned)) throw new EndWith(DIFFERENT)
    })
}

export function withFileOptions(command: Command): Command {
  return withRemoteOptions(
    command
      .addOption(
        repeatable(
          '-f, --file <file>',
          'a file (YAML or JSON), a folder with such files, or - for standard input; may be given several times',
        ),
      )
      .addOption(
        labelOption('what belongs to these files: a name for all that they make or take over').default('default'),
      )
      .option('--prune', 'delete what has the label and is not in the files')
      .option('--take-over', 'take over what has another label'),
  )
}

/** An option that may be given several times. */
export function repeatable(flags: string, description: string) {
  return option(flags, description).argParser((value: string, others: readonly string[] | undefined) => [
    ...(others ?? []),
    value,
  ])
}

/** The option that names a label. */
export function labelOption(description: string) {
  return option('--label <label>', description).argParser((text) => {
    if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) return text
    throw new InvalidArgumentError('It has 1 to 63 of a-z, 0-9 and -, and does not start with -.')
  })
}

/**
 * Plans the configuration in the files. Warns of a file without a document: with `--prune`, what a file had that was emptied by mistake is
 * deleted.
 *
 * @throws {ConfigurationMistakes} before anything is sent, or with the mistakes that the server found, at their places in the files.
 */
export async function planOf(io: Io, options: FileOptions): Promise<Planned> {
  const { file, label, prune = false, takeOver = false } = options
  if (file === undefined) throw new UsageError("required option '-f, --file <file>' not specified")
  const files = parseConfiguration(await readSourceFiles(file, file.includes('-') ? io.stdin : undefined))
  printWarnings(
    io,
    files.emptyFiles.map((name) => `there is no document in ${name}`),
  )
  const api = await openApi(io, options)
  const request = { configuration: files.configuration, label, prune, takeOver }
  const { plan, mistakes } = await api.call(ConfigService.method.planConfiguration, request)
  if (plan === undefined) throw new ConfigurationMistakes(files.located(mistakes))
  const secrets = await planSecrets(io, api, { requests: files.secrets, users: plan.serviceUsers })
  printWarnings(io, secrets.warnings)
  return { api, request, plan, secrets }
}

/** Whether an instance is not yet as its configuration says. */
export function isDifferent({ plan, secrets }: Pick<Planned, 'plan' | 'secrets'>): boolean {
  return plan.changes.length > 0 || secrets.due.length > 0
}
