/**
 * The settings that are also flags.
 */
import type { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/read-config.ts'
import { SETTINGS } from '../../config/settings.ts'
import type { Io } from '../io.ts'

const FLAGS = SETTINGS.filter((setting) => setting.flag !== undefined)

/** Adds a flag for each setting that has one. @param variables Only for these. */
export function withSettingFlags(command: Command, variables?: readonly string[]): Command {
  for (const { flag, variable, description } of FLAGS) {
    if (variables === undefined || variables.includes(variable))
      command.option(`${flag} <value>`, `${description.replaceAll('`', '')} (${variable})`)
  }
  return command
}

/** The configuration that flags and the environment say. @param options What a command was called with. */
export function configFrom(io: Pick<Io, 'env'>, options: Readonly<Record<string, unknown>>): Config {
  const flags = FLAGS.map(({ flag = '', variable }) => {
    const value = options[flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())]
    return [variable, typeof value === 'string' ? value : undefined]
  })
  return readConfig(Object.fromEntries(flags), io.env)
}
