/**
 * One verifier that runs: how it is started, asked and stopped.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { eventually } from '../support/eventually.ts'
import { collect } from '../support/keyturn.ts'
import { SYSTEM_FOLDERS } from './toolchains.ts'

/** How long a verifier may take to listen, in milliseconds. A cold JVM beside others takes longest. */
const START_TIMEOUT = 150_000
/** How long one verification may take, in milliseconds, on a machine that is busy with other things. */
const VERIFY_TIMEOUT = 60_000
/** How long a verifier may take to end, in milliseconds. */
const STOP_TIMEOUT = 10_000

/** What a verifier says of a token. */
export type Verdict = { readonly kind: 'verified' } | { readonly kind: 'refused'; readonly reason: string }

/** A verifier that listens. */
export interface VerifierProcess {
  readonly port: number
  /** @throws {Error} if the answer is none of 200, 401 and 403, or none. */
  verify(token: string): Promise<Verdict>
  /** Whether it has run without a break until now. */
  readonly isRunning: boolean
  /** Ends it, and says what it has printed. */
  stop(): Promise<string>
}

/** How to start one. */
export interface StartCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Where it listens on loopback, if it cannot say so. */
  readonly port?: number
  /** Where it writes what it does not print. */
  readonly logFile?: string
  /** Removes what was made for it. */
  dispose?(): Promise<void>
}

/** Starts a program and waits until it listens on loopback, which it says with `ready <port>`. */
export async function startVerifier(command: StartCommand): Promise<VerifierProcess> {
  const { program, args, cwd, env, logFile } = command
  const { HOME, PATH } = process.env
  const child = spawn(program, args, {
    cwd,
    env: { HOME, PATH: [PATH, ...SYSTEM_FOLDERS].join(':'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child)
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    const insist = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT)
    await closed.finally(() => clearTimeout(insist))
    const logged = logFile === undefined ? '' : await readFile(logFile, 'utf8').catch(() => '')
    await command.dispose?.()
    return output.stdout + output.stderr + logged
  }

  const giveUp = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT)
  const printed = portOf(child, output)
  const listens = command.port === undefined ? printed : Promise.race([printed, untilListening(command.port)])
  const port = await listens
    .catch(async (error: unknown) => {
      throw new Error(`${program} did not start: ${await stop()}`, { cause: error })
    })
    .finally(() => clearTimeout(giveUp))
  const url = `http://127.0.0.1:${port}/verify`
  return {
    port,
    verify: (token) => verify(url, token),
    get isRunning() {
      return child.exitCode === null && child.signalCode === null
    },
    stop,
  }
}

function portOf(child: ChildProcess, output: { stdout: string; stderr: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', () => {
      const port = /^ready (\d+)$/m.exec(output.stdout)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      reject(new Error(`it ended with ${code ?? signal} before it listened`))
    })
  })
}

/** Waits until connections to a port are taken. */
function untilListening(port: number): Promise<number> {
  return eventually(async () => {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
    } finally {
      socket.destroy()
    }
    return port
  })
}

async function verify(url: string, token: string): Promise<Verdict> {
  const response = await fetch(url, {
    method: 'POST',
    // Middlewares and modules take it from the header.
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: token,
    signal: AbortSignal.timeout(VERIFY_TIMEOUT),
  })
  const said = await response.text()
  if (response.status === 200) return { kind: 'verified' }
  if (response.status === 401 || response.status === 403) {
    return { kind: 'refused', reason: said || (response.headers.get('www-authenticate') ?? 'no reason') }
  }
  throw new Error(`${url} answered ${response.status}: ${said}`)
}
