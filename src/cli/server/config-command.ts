/**
 * `keyturn config`: the effective settings, without secrets.
 */
import { Command } from 'commander'
import { readConfig } from '../../config/config.ts'
import { describeConfig } from '../../config/describe-config.ts'
import { checkConfigFiles } from '../../server/config-files.ts'
import type { Io } from '../io.ts'
import { serveFlags, withServeFlags } from './serve-flags.ts'

/** The command. */
export function configCommand(io: Io): Command {
  return withServeFlags(new Command('config'))
    .option('--json', 'print JSON')
    .action(async (options: Record<string, string | boolean | undefined>) => {
      const config = readConfig(serveFlags(options), io.env)
      await checkConfigFiles(config)
      const settings = describeConfig(config)
      const lines = Object.entries(settings).map(([variable, value]) => `${variable}=${value ?? ''}`)
      io.stdout.write(`${options.json === true ? JSON.stringify(settings, null, 2) : lines.join('\n')}\n`)
    })
}
