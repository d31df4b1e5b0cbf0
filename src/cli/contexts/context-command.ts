/**
 * `keyturn context list | use | remove`: the servers that `keyturn login` has stored credentials for.
 */
import { Command } from 'commander'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import { contextsOf } from '../connection/target.ts'
import type { Io } from '../io.ts'
import { type OutputOptions, printJson, withOutputOptions } from '../output.ts'
import { formatTable } from '../table.ts'

/** The group of commands. */
export function contextCommand(io: Io): Command {
  const context = new Command('context')
  context.addCommand(listCommand(io))
  context.addCommand(useCommand(io))
  context.addCommand(removeCommand(io))
  return context
}

function listCommand(io: Io): Command {
  return withOutputOptions(new Command('list'))
    .description('List all contexts by name, without their secrets. An asterisk marks the one in use.')
    .action(async (options: OutputOptions) => {
      const contexts = contextsOf(io)
      const current = await contexts.current()
      const rows = await Promise.all(
        (await contexts.names()).map(async (name) => {
          const inUse = name === current
          const context = await contexts.read(name).catch(() => undefined)
          if (context === undefined) return { name, inUse, isReadable: false }
          const user = 'client_id' in context ? { clientId: context.client_id } : { personalAccessToken: true }
          return { name, inUse, baseUrl: context.base_url, ...user }
        }),
      )
      printJson(io, options, { contexts: rows }, (heading) =>
        formatTable(
          ['', 'NAME', 'SERVER', 'USER'],
          rows.map((row) => [
            row.inUse ? '*' : '',
            row.name,
            ...('isReadable' in row
              ? ['not readable', '-']
              : [row.baseUrl, 'clientId' in row ? row.clientId : 'personal access token']),
          ]),
          heading,
        ),
      )
    })
}

function useCommand(io: Io): Command {
  return new Command('use')
    .description('Choose the context that commands use unless they are given another one.')
    .argument('<context>', 'name of the context')
    .action(async (name: string) => {
      const contexts = contextsOf(io)
      const { base_url } = await contexts.read(name)
      await contexts.use(name)
      io.stdout.write(`${name} is in use: commands call ${base_url}\n`)
    })
}

function removeCommand(io: Io): Command {
  return new Command('remove')
    .description('Remove a context with its secret. The secret itself goes on working.')
    .argument('<context>', 'name of the context')
    .addOption(yesOption())
    .action(async (name: string, options: YesOption) => {
      const contexts = contextsOf(io)
      await confirm(io, options, `Remove the context ${name} with its secret?`)
      await contexts.remove(name)
      io.stdout.write(`removed ${name}; its secret works until it is deleted at the server\n`)
    })
}
