/**
 * `keyturn console`: a link with which a browser signs in as the caller, and the sessions of the console.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:os'
import { toJson } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Command } from 'commander'
import { ConsoleService } from '../../gen/iam/console/v2/console_service_pb.js'
import { call, command, list } from './commands.ts'
import type { Io } from './io.ts'
import { option } from './options.ts'
import { formatOf, printResult } from './output.ts'

const SCHEMES = ['https:', 'http:']

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

const { method: Methods } = ConsoleService

const SIGN_IN = command('console', {
  description: '',
  options: {
    open: option<boolean>('--no-open', 'print the link only (a browser is opened at a terminal, where there is one)'),
  },
  async run(_, { io, api, options }) {
    const response = await api.call(Methods.createSignInLink, {}).catch((error: unknown) => {
      if (!(error instanceof ConnectError) || error.code !== Code.Unimplemented) throw error
      throw new Error('the server has no console: KEYTURN_CONSOLE is off there, or it is an older version')
    })
    const { url } = response
    await printResult(io, options, toJson(Methods.createSignInLink.output, response), () => url)
    if (formatOf(options) !== 'table' || !io.stdout.isTTY) return
    const isOpened = options.open && (await openInBrowser(url, io))
    const advice = isOpened ? 'it was opened in a browser' : 'open it in a browser'
    io.stderr.write(`The link works once, for a minute: ${advice}. Anyone who has it signs in as you.\n`)
  },
})

const SESSIONS = list(Methods.listSessions, 'sessions', {
  name: 'sessions',
  description: 'List the sessions of the console.',
  columns: ['sessionId', 'userId', 'creationDate', 'lastUseDate', 'expirationDate', 'clientAddress', 'unreadable'],
})

const END_SESSION = call('end-session', Methods.revokeSession, {
  description: 'End a session of the console.',
  takes: { sessionId: { placeholder: 'session', description: 'the id, as "keyturn console sessions" has it' } },
  text: () => 'the session has ended',
})

export function consoleCommand(io: Io): Command {
  return SIGN_IN(io).enablePositionalOptions().addCommand(SESSIONS(io)).addCommand(END_SESSION(io))
}

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
  const hasScreen = env.DISPLAY !== undefined || env.WAYLAND_DISPLAY !== undefined
  const [program = '', ...args] = OPENERS[platform()] ?? (hasScreen ? ['xdg-open'] : [])
  if (program === '') return false
  const child = spawn(program, [...args, url], { env, stdio: 'ignore', detached: true })
  child.unref()
  return await once(child, 'spawn').then(
    () => true,
    () => false,
  )
}
