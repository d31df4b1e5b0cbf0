/**
 * `keyturn context list | use | remove`: the servers that `keyturn login` has stored credentials for.
 */
import { Command } from 'commander'
import { confirm } from '../confirm.ts'
import { contextsOf } from '../connection/target.ts'
import type { Io } from '../io.ts'
import { type YesOption, yesOption } from '../options.ts'
import { type OutputOptions, printResult, withOutputOptions } from '../output.ts'

/** The group of commands. */
export function contextCommand(io: Io): Command {
  const group = new Command('context')
  withOutputOptions(group.command('list'))
    .description('List all contexts by name, without their secrets. An asterisk marks the one in use.')
    .action(async (options: OutputOptions) => {
      const contexts = contextsOf(io)
      const current = await contexts.current()
      const listed = await Promise.all(
        (await contexts.names()).map(async (name) => {
          const inUse = name === current
          const context = await contexts.read(name).catch(() => undefined)
          if (context === undefined) return { name, inUse, isReadable: false }
          const user = 'client_id' in context ? { clientId: context.client_id } : { personalAccessToken: true }
          return { name, inUse, baseUrl: context.base_url, ...user }
        }),
      )
      await printResult(io, options, { contexts: listed }, () => ({
        heading: ['', 'NAME', 'SERVER', 'USER'],
        rows: listed.map((context) => [
          context.inUse ? '*' : '',
          context.name,
          ...('isReadable' in context
            ? ['not readable', '-']
            : [context.baseUrl, 'clientId' in context ? context.clientId : 'personal access token']),
        ]),
      }))
    })
  group
    .command('use')
    .description('Choose the context that commands use unless they are given another one.')
    .argument('<context>', 'name of the context')
    .action(async (name: string) => {
      const contexts = contextsOf(io)
      const { base_url } = await contexts.read(name)
      await contexts.use(name)
      io.stdout.write(`${name} is in use: commands call ${base_url}\n`)
    })
  group
    .command('remove')
    .description('Remove a context with its secret. The secret itself goes on working.')
    .argument('<context>', 'name of the context')
    .addOption(yesOption())
    .action(async (name: string, options: YesOption) => {
      const contexts = contextsOf(io)
      await confirm(io, options, `Remove the context ${name} with its secret?`)
      await contexts.remove(name)
      io.stdout.write(`removed ${name}; its secret works until it is deleted at the server\n`)
    })
  return group
}
