/**
 * `keyturn console`: a link with which a browser signs in as the caller. The sessions are in `console-sessions-command.ts`.
 */
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { Command } from 'commander'
import {
  ConsoleService,
  type CreateSignInLinkResponse,
  CreateSignInLinkResponseSchema,
} from '../../gen/iam/console/v2/console_service_pb.js'
import { openApi } from './api-client.ts'
import { withMessage } from './api-error.ts'
import { openInBrowser } from './browser.ts'
import { endSessionCommand, sessionsCommand } from './console-sessions-command.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { formatOf } from './output.ts'
import { print } from './print.ts'

interface ConsoleOptions extends RemoteOptions {
  readonly open: boolean
}

/** The command. */
export function consoleCommand(io: Io): Command {
  return withRemoteOptions(new Command('console').enablePositionalOptions())
    .option('--no-open', 'print the link only (a browser is opened at a terminal, where there is one)')
    .action(async (options: ConsoleOptions) => {
      const response = await createLink(io, options)
      print(io, options, CreateSignInLinkResponseSchema, response, () => response.url)
      if (formatOf(options) !== 'table' || io.terminals?.stdout !== true) return
      const isOpened = options.open && (await openInBrowser(response.url, io))
      const advice = isOpened ? 'it was opened in a browser' : 'open it in a browser'
      io.stderr.write(`The link works once, for a minute: ${advice}. Anyone who has it signs in as you.\n`)
    })
    .addCommand(sessionsCommand(io))
    .addCommand(endSessionCommand(io))
}

async function createLink(io: Io, options: ConsoleOptions): Promise<CreateSignInLinkResponse> {
  try {
    return await createClient(ConsoleService, await openApi(io, options)).createSignInLink({})
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Unimplemented) throw error
    throw withMessage(error, () => 'the server has no console: KEYTURN_CONSOLE is off there, or it is an older version')
  }
}
