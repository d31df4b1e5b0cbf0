/**
 * Other processes for tests that need several: TypeScript files run by the same Node, which talk in messages.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A running script. */
export interface Worker {
  readonly process: ChildProcess
  /** The next message of the script. @throws {Error} with what it wrote to stderr if it ends first. */
  next<T>(): Promise<T>
  send(message: object): void
  /** Ends the script at once, as `kill -9` does, and waits until it is gone. */
  kill(): Promise<void>
}

/** How a script is started as root so that the permissions of files hold for it all the same. */
const OBEYING_PERMISSIONS = {
  execPath: 'setpriv',
  execArgv: [
    '--bounding-set=-dac_override,-dac_read_search',
    '--inh-caps=-dac_override,-dac_read_search',
    process.execPath,
  ],
}

/**
 * Starts a script. Kill it in `afterEach`, whatever happened to it.
 *
 * @param options.obeysPermissions Whether the permissions of files hold for it although the tests may be run by root.
 */
export function startWorker(
  script: URL,
  args: readonly string[] = [],
  { obeysPermissions = false }: { readonly obeysPermissions?: boolean } = {},
): Worker {
  const isRoot = process.getuid?.() === 0
  const program = obeysPermissions && isRoot ? OBEYING_PERMISSIONS : { execArgv: [] }
  const child = fork(script, args, { ...program, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const messages: unknown[] = []
  const waiting: { resolve(message: never): void; reject(error: Error): void }[] = []
  const exited = once(child, 'exit')
  child.on('message', (message) => {
    const first = waiting.shift()
    if (first === undefined) messages.push(message)
    else first.resolve(message as never)
  })
  child.on('close', (code, signal) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`the worker ended (${code ?? signal}): ${stderr}`))
  })

  return {
    process: child,
    next: <T>() => {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      if (messages.length > 0) resolve(messages.shift() as T)
      else if (child.exitCode !== null || child.signalCode !== null) reject(new Error(`the worker ended: ${stderr}`))
      else waiting.push({ resolve, reject })
      return promise
    },
    send: (message) => {
      child.send(message)
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
