/**
 * `keyturn plan`: the difference between an instance and the files of a configuration.
 */
import { Command } from 'commander'
import { DIFFERENT, EndWith } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { printJson, printWarnings } from '../output.ts'
import { type FileOptions, readConfiguration, withFileOptions } from './file-options.ts'
import { formatPlan, planJson } from './plan-text.ts'
import { isDifferent, planOf } from './planned.ts'

interface PlanOptions extends FileOptions {
  readonly detailedExitcode?: true
}

/** The command. */
export function planCommand(io: Io): Command {
  const command = withFileOptions(new Command('plan'))
  return command
    .option('--detailed-exitcode', 'exit with 0 without a difference, 1 after an error, 2 with a difference')
    .action(async (options: PlanOptions) => {
      const planned = await planOf(io, options, await readConfiguration(io, command, options))
      printWarnings(io, planned.secrets.warnings)
      printJson(io, options, planJson(planned), () => formatPlan(planned, options.label, io))
      if (options.detailedExitcode === true && isDifferent(planned)) throw new EndWith(DIFFERENT)
    })
}
