/**
 * `keyturn config`: the effective settings, without secrets.
 */
import { Command } from 'commander'
import { readConfig } from '../../config/read-config.ts'
import { checkConfigFiles } from '../../server/config-files.ts'
import type { Io } from '../io.ts'
import { type OutputOptions, printJson, withOutputOptions } from '../output.ts'
import { serveFlags, withServeFlags } from './serve-flags.ts'

/** The command. */
export function configCommand(io: Io): Command {
  return withOutputOptions(withServeFlags(new Command('config'))).action(
    async (options: Record<string, unknown> & OutputOptions) => {
      const config = readConfig(serveFlags(options), io.env)
      await checkConfigFiles(config)
      const lines = Object.entries(config.shown).map(([variable, value]) => `${variable}=${value ?? ''}`)
      printJson(io, options, config.shown, () => lines.join('\n'))
    },
  )
}
