/**
 * The settings that are also flags.
 */
import type { Command } from 'commander'
import { SETTINGS, type Setting } from '../../config/settings.ts'

const FLAGS = SETTINGS.filter((setting) => setting.flag !== undefined)

/** The settings with a flag that commands use which work directly on the database. */
const DATABASE_VARIABLES = ['KEYTURN_DATABASE_URL', 'KEYTURN_DATA_DIR']

/** Adds a flag for each setting that has one. */
export function withServeFlags(command: Command): Command {
  return withFlags(command, FLAGS)
}

/** Adds the flags of a command that works directly on the database. @param more Other settings with a flag that it uses. */
export function withDatabaseFlags(command: Command, more: readonly string[] = []): Command {
  return withFlags(
    command,
    FLAGS.filter(({ variable }) => [...DATABASE_VARIABLES, ...more].includes(variable)),
  )
}

function withFlags(command: Command, flags: readonly Setting[]): Command {
  for (const { flag, variable, meaning } of flags) {
    command.option(`${flag} <value>`, `${meaning.replaceAll('`', '')} (${variable})`)
  }
  return command
}

/** The values of the flags by the variable that each stands for. */
export function serveFlags(options: Readonly<Record<string, unknown>>): Record<string, string | undefined> {
  return Object.fromEntries(
    FLAGS.map(({ flag = '', variable }) => {
      const value = options[flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())]
      return [variable, typeof value === 'string' ? value : undefined]
    }),
  )
}
