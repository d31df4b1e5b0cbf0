/**
 * Another Node.js process that serves on a port of loopback and says where on its standard output.
 *
 * Standard error goes to a file, as an operator would have it: reading it here would take time from what is measured.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'

/** How long a program may take to listen, and to stop when it is told to, in milliseconds. */
const START_TIMEOUT = 60_000
const STOP_TIMEOUT = 15_000

/** A running program. */
export interface Program {
  readonly pid: number
  /** What it said where it listens, for example `http://127.0.0.1:1234`. */
  readonly url: string
  /** From the start of the process until it listened, in milliseconds. */
  readonly startMillis: number
  /** Ends it, with SIGKILL if it does not stop by itself. May be called twice. */
  stop(): Promise<void>
}

/** What to run. */
export interface ProgramOptions {
  readonly script: string
  /** Flags of Node.js. Default none. */
  readonly flags?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Takes standard error. */
  readonly logFile: string
}

/** Processes that run, for the last resort. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Kills a process when this one exits, however that happens. */
export function endWithUs(child: ChildProcess): void {
  running.add(child)
  child.once('exit', () => running.delete(child))
}

/** Starts a program and waits until it says `… listens on <url>`. @throws {Error} with what it logged. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { script, flags = [], args = [], env = {}, logFile } = options
  const log = openSync(logFile, 'a', 0o600)
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...flags, script, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  endWithUs(child)
  const exited = once(child, 'exit')
  const giveUp = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT)
  try {
    const url = await untilListening(child)
    const startMillis = performance.now() - startedAt
    // Nothing that is said later is of interest, and nothing may fill the pipe.
    child.stdout?.resume()
    return { pid: child.pid ?? 0, url, startMillis, stop: () => stop(child, exited) }
  } catch (error) {
    throw new Error(`${script} did not start:\n${readFileSync(logFile, 'utf8').slice(-2000)}`, { cause: error })
  } finally {
    clearTimeout(giveUp)
  }
}

function untilListening(child: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000)
      const url = / listens on (http:\/\/[^\s/]+)/.exec(said)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`it ended with ${code ?? signal}`)))
  })
}

async function stop(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT)
  await exited
  clearTimeout(kill)
}
