/**
 * `keyturn console`: a link with which a browser signs in as the caller, and the sessions of the console.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:os'
import { Code, ConnectError } from '@connectrpc/connect'
import { Command } from 'commander'
import {
  ConsoleService,
  CreateSignInLinkResponseSchema,
  type Session,
} from '../../gen/iam/console/v2/console_service_pb.js'
import { openApi } from './api-client.ts'
import { call, invoke, list, print } from './api-command.ts'
import { withMessage } from './api-error.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { formatOf } from './output.ts'
import { formatMoment } from './table.ts'

const { method: Methods } = ConsoleService

interface ConsoleOptions extends RemoteOptions {
  readonly open: boolean
}

/** The command. */
export function consoleCommand(io: Io): Command {
  return withRemoteOptions(new Command('console').enablePositionalOptions())
    .option('--no-open', 'print the link only (a browser is opened at a terminal, where there is one)')
    .action(async (options: ConsoleOptions) => {
      const response = await invoke(await openApi(io, options), Methods.createSignInLink, {}).catch(
        (error: unknown) => {
          const isMissing = ConnectError.from(error).code === Code.Unimplemented
          const advice = 'the server has no console: KEYTURN_CONSOLE is off there, or it is an older version'
          throw isMissing ? withMessage(error, () => advice) : error
        },
      )
      await print({ io, options }, CreateSignInLinkResponseSchema, response, () => response.url)
      if (formatOf(options) !== 'table' || io.terminals?.stdout !== true) return
      const isOpened = options.open && (await openInBrowser(response.url, io))
      const advice = isOpened ? 'it was opened in a browser' : 'open it in a browser'
      io.stderr.write(`The link works once, for a minute: ${advice}. Anyone who has it signs in as you.\n`)
    })
    .addCommand(SESSIONS(io))
    .addCommand(END_SESSION(io))
}

const SESSIONS = list({
  name: 'sessions',
  description: 'List the sessions of the console.',
  method: Methods.listSessions,
  items: 'sessions',
  heading: ['SESSION', 'USER', 'SINCE', 'LAST USE', 'UNTIL', 'ADDRESS'],
  row,
})

const END_SESSION = call({
  name: 'end-session',
  description: 'End a session of the console.',
  takes: { sessionId: { placeholder: 'session', description: 'the id, as "keyturn console sessions" has it' } },
  method: Methods.revokeSession,
  text: () => 'the session has ended',
})

function row(session: Session): string[] {
  const { sessionId, userId, creationDate, lastUseDate, expirationDate, clientAddress, unreadable } = session
  if (unreadable) return [sessionId, 'unreadable']
  const dates = [creationDate, lastUseDate, expirationDate].map((date) =>
    date === undefined ? '' : formatMoment(date),
  )
  return [sessionId, userId, ...dates, clientAddress]
}

const SCHEMES = ['https:', 'http:']

/**
 * Starts the program that opens an address, and does not wait for it.
 *
 * Other users of the machine may see the address in the list of processes.
 *
 * @param url From a server: an address of another scheme could start any program that handles it, and is not opened.
 * @returns Whether there is such a program, and a screen.
 */
export async function openInBrowser(url: string, { env }: Pick<Io, 'env'>): Promise<boolean> {
  if (!URL.canParse(url) || !SCHEMES.includes(new URL(url).protocol)) return false
  const command = opener(env)
  if (command === undefined) return false
  const [program, ...args] = command
  const child = spawn(program, [...args, url], { env, stdio: 'ignore', detached: true })
  child.unref()
  return await once(child, 'spawn').then(
    () => true,
    () => false,
  )
}

function opener(env: Io['env']): readonly [string, ...string[]] | undefined {
  switch (platform()) {
    case 'darwin':
      return ['open']
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler']
    default:
      return env.DISPLAY === undefined && env.WAYLAND_DISPLAY === undefined ? undefined : ['xdg-open']
  }
}
