/**
 * The structured log: one JSON object a line, on standard error.
 */
import { type LoggerOptions, pino } from 'pino'
import type { Log } from '../../domain/ports.ts'
import { LogOutput } from './log-output.ts'
import type { RequestLines } from './request-log.ts'

/** Names under which a secret could end up in a log by mistake. They are masked at the top and one level down. */
const SECRETS = ['authorization', 'clientSecret', 'client_secret', 'secret', 'password', 'token', 'access_token']

/** The log of a server. */
export interface ServerLog extends Log {
  /**
   * For the lines about requests, which are many. Their facts come from one place and are known by name, so they are not
   * searched for secrets: that takes six times as long as writing the line.
   */
  readonly requests: RequestLines
  /** Whether everything has been written, at the latest after so many milliseconds. */
  written(milliseconds: number): Promise<boolean>
}

/** Opens the log of the process. Its last lines are not lost when the process exits, unless nobody reads them. */
export function openLog(level: string): ServerLog {
  const output = new LogOutput(process.stderr)
  process.once('exit', () => output.flush())
  return createLog(level, output)
}

/** A log whose lines go to this output. */
export function createLog(level: string, output: LogOutput): ServerLog {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: isoTimes(),
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

/** The time as a member of a line. Lines of the same millisecond share it: printing it takes as long as half a line. */
function isoTimes(): () => string {
  let printed = ''
  let printedAt = Number.NaN
  return () => {
    const now = Date.now()
    if (now !== printedAt) {
      printed = `,"time":"${new Date(now).toISOString()}"`
      printedAt = now
    }
    return printed
  }
}

/** What of an error is logged: its own words and those of its causes, not the objects that hang on it. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  return { name: error.name, message: error.message, ...code, stack: error.stack, ...cause }
}
