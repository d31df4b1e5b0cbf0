/**
 * The structured log: one JSON object a line, on standard error.
 */
import { pino } from 'pino'
import type { Log } from '../domain/ports.ts'

/** Names under which a secret could end up in a log by mistake. They are masked at the top and one level down. */
const SECRETS = ['authorization', 'clientSecret', 'client_secret', 'secret', 'password', 'token', 'access_token']

/** Opens the log. Standard error is written synchronously, so that the last lines before an exit are not lost. */
export function openLog(level: string): Log {
  const destination = pino.destination({ dest: 2, sync: true })
  // A full disk or a closed terminal costs the log, not the service.
  destination.on('error', () => {})
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: SECRETS.flatMap((name) => [name, `*.${name}`]),
      serializers: { err: describeError },
    },
    destination,
  )
}

/** What of an error is logged: its own words and those of its causes, not the objects that hang on it. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  return { name: error.name, message: error.message, ...code, stack: error.stack, ...cause }
}
