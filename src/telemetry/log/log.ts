/** The structured log: one JSON object a line, on standard error. */
import { type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import type { Log } from '../../domain/ports/runtime.ts'
import { LogOutput } from './log-output.ts'
import type { RequestLines } from './request-log.ts'

/** Members that could hold a secret by mistake. They are redacted at the top and one level down. */
const SECRETS = ['authorization', 'clientSecret', 'client_secret', 'secret', 'password', 'token', 'access_token']

export interface ServerLog extends Log {
  /** The access log. Its members are fixed, so it is not redacted: that takes six times as long as writing the line. */
  readonly requests: RequestLines
  /** Waits for all lines to be written, up to so many milliseconds. @returns Whether they are. */
  written(milliseconds: number): Promise<boolean>
}

/** Opens the log of the process. It is flushed when the process exits. */
export function openLog(level: string): ServerLog {
  const output = new LogOutput(process.stderr)
  process.once('exit', () => output.flush())
  return createLog(level, output)
}

export function createLog(level: string, output: LogOutput): ServerLog {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
  }
  const log = pino({ ...options, redact: SECRETS.flatMap((name) => [name, `*.${name}`]) }, output)
  return {
    info: (facts, message) => log.info(facts, message),
    warn: (facts, message) => log.warn(facts, message),
    error: (facts, message) => log.error(facts, message),
    requests: pino(options, output),
    written: (milliseconds) => output.written(milliseconds),
  }
}

/** The logged part of an error: name, message, code and stack, also of its causes and of the errors in an `AggregateError`. */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  const errors = error instanceof AggregateError ? { errors: error.errors.map(describeError) } : {}
  return { name: error.name, message: error.message, ...code, stack: error.stack, ...cause, ...errors }
}
