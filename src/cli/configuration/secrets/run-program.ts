/**
 * Runs a program that a secret is handed over to. What it prints is kept away from the terminal, and the secret from errors.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'

const TIME_LIMIT_MILLIS = 60_000
/** How long output is read after the program has ended. A child of it may keep it open without an end. */
const OUTPUT_LIMIT_MILLIS = 1_000
const MAX_CHARACTERS = 4096

/** How to run it. */
interface ProgramOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Its standard input. Default: none. */
  readonly input?: string
  /** What must not be in an error. */
  readonly redact?: readonly string[]
}

/**
 * Runs a program without a shell and returns the beginning of its standard output.
 *
 * @throws {Error} if it cannot be started, ends with another exit code than 0, or takes more than a minute.
 */
export async function runProgram([program = '', ...args]: readonly string[], options: ProgramOptions): Promise<string> {
  const { env, input, redact = [] } = options
  // Not `timeout` of `spawn`, whose timer keeps this process if the program cannot be started.
  const signal = AbortSignal.timeout(TIME_LIMIT_MILLIS)
  const child = spawn(program, args, { env: { ...env }, stdio: 'pipe', signal, killSignal: 'SIGKILL' })
  const stdout = beginningOf(child.stdout)
  const stderr = beginningOf(child.stderr)
  // A program that reads none of it may close its end first. Its exit code says whether that was right.
  child.stdin.on('error', () => {})
  child.stdin.end(input ?? '')
  const [code, endedBy] = await once(child, 'exit').catch((cause: unknown) => {
    close(child)
    if (signal.aborted) throw new Error(`${program} took more than a minute, and was ended`)
    throw new Error(
      `cannot run ${program}: ${cause instanceof Error && 'code' in cause ? cause.code : 'it does not start'}`,
    )
  })
  const outputSignal = AbortSignal.timeout(OUTPUT_LIMIT_MILLIS)
  await Promise.allSettled([child.stdout, child.stderr].map((stream) => finished(stream, { signal: outputSignal })))
  close(child)
  if (code === 0) return stdout()
  const lines = redacted(stderr(), redact)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const end = `${program} ended with ${code === null ? endedBy : `exit code ${code}`}`
  // In one line, as everything that a command says of one secret.
  throw new Error(lines.length === 0 ? end : `${end}: ${lines.join('; ')}`)
}

/** Closes its pipes, which would keep this process while a child of the program has the other ends. */
function close({ stdin, stdout, stderr }: ChildProcessWithoutNullStreams): void {
  for (const stream of [stdin, stdout, stderr]) stream.destroy()
}

/** A text without secrets. If it was cut off, its end may be a part of one. */
function redacted(text: string, secrets: readonly string[]): string {
  const without = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
  const longest = Math.max(0, ...secrets.map(({ length }) => length))
  return text.length < MAX_CHARACTERS ? without : without.slice(0, -longest || undefined)
}

/** Collects the beginning of a stream. The rest is read and dropped. */
function beginningOf(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < MAX_CHARACTERS) text += chunk
  })
  return () => text
}
