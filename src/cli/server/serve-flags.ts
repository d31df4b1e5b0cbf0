/**
 * The settings that are also flags.
 */
import type { Command } from 'commander'
import { SETTINGS, type Setting } from '../../config/settings.ts'

const FLAGS = (SETTINGS as readonly Setting[]).filter((setting) => setting.flag !== undefined)

/** Adds a flag for each setting that has one. */
export function withServeFlags(command: Command): Command {
  for (const { flag, variable, meaning } of FLAGS) {
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
