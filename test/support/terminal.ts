/**
 * A terminal beside a running server: commands with the administrator's credentials, and the API without the command line.
 */
import {
  type Keyturn,
  removeFolder,
  requestToken,
  runKeyturnInProcess,
  type StartOptions,
  startKeyturnInProcess,
} from './keyturn.ts'

/** What a command did. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A terminal beside a running server. */
export interface Terminal {
  readonly server: Keyturn
  /** Runs a command, whatever comes of it. */
  run(...args: string[]): Promise<Ended>
  /** Runs a command that must succeed and print nothing on standard error. Returns its lines. */
  lines(...args: string[]): Promise<string[]>
  /** Runs a command that must succeed with `--json` and returns what it prints. */
  json<T>(...args: string[]): Promise<T>
  /** Calls a method of the API, such as `iam.user.v2.ServiceUserService/GetServiceUser`. */
  call<T>(method: string, request: object): Promise<T>
  close(): Promise<void>
}

/** A user id, as a regular expression. */
export const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

/** A moment as a command prints it, as a regular expression. */
export const MOMENT = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'

/** What commands that print a secret say besides. */
const NOTE = /^the (\w+ is not shown again|credentials were written to .*)\n$/

/** Starts a server and opens a terminal beside it. */
export async function openTerminal(options: StartOptions = {}): Promise<Terminal> {
  const server = await startKeyturnInProcess(options)
  const run = (...args: string[]) => runKeyturnInProcess(args, { KEYTURN_DATA_DIR: server.dataDir })
  const stdoutOf = async (args: string[]) => {
    const { code, stdout, stderr } = await run(...args)
    if (code !== 0 || stderr.replace(NOTE, '') !== '')
      throw new Error(`keyturn ${args.join(' ')} ended with ${code}:\n${stderr}`)
    return stdout
  }
  return {
    server,
    run,
    lines: async (...args) => (await stdoutOf(args)).replace(/\n$/, '').split('\n'),
    json: async (...args) => JSON.parse(await stdoutOf([...args, '--json'])),
    async call(method, request) {
      const response = await fetch(`${server.baseUrl}/${method}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${await requestToken(await server.admin())}`,
        },
        body: JSON.stringify(request),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method}: ${response.status} ${text}`)
      return JSON.parse(text)
    },
    async close() {
      await server.stop()
      await removeFolder(server.dataDir)
    },
  }
}

/** What a command that succeeds and prints one line ends like. */
export function says(line: string): Ended {
  return { code: 0, stdout: `${line}\n`, stderr: '' }
}

/** What a command that is refused ends like. */
export function refuses(message: string): Ended {
  return { code: 1, stdout: '', stderr: `keyturn: ${message}\n` }
}

/** What a command that is called wrongly ends like. */
export function rejects(message: string): Ended {
  return { code: 2, stdout: '', stderr: `error: ${message}\nRun the command with --help to see what it takes.\n` }
}

/** The line that is too long for a terminal, if there is one. */
export function tooLong(lines: readonly string[]): string | undefined {
  return lines.find((line) => line.length > 80)
}
