/**
 * What commands that work directly on the database have in common.
 */
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/read-config.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Io } from '../io.ts'
import { serveFlags } from './serve-flags.ts'

/** How long the last lines of the log may take to be written, in milliseconds. */
const LOG_GRACE = 1_000

/** What such a command works with. */
export interface DatabaseCommand {
  readonly config: Config
  /** Goes to standard error. */
  readonly log: Log
  /** Interrupts the command. */
  readonly signal: AbortSignal
}

/**
 * Reads the settings, opens the log and runs the command. The log is written when it ends.
 *
 * @param options The parsed options of the command line.
 */
export async function runDatabaseCommand(
  io: Io,
  options: Readonly<Record<string, unknown>>,
  command: (given: DatabaseCommand) => Promise<void>,
): Promise<void> {
  const config = readConfig(serveFlags(options), io.env)
  // Imported here, as the server is by each command: commands that call the API start twice as fast without either.
  const [{ createLog }, { LogOutput }] = await Promise.all([
    import('../../telemetry/log/log.ts'),
    import('../../telemetry/log/log-output.ts'),
  ])
  const log = createLog(config.logLevel, new LogOutput(io.stderr))
  try {
    await command({ config, log, signal: io.signal ?? new AbortController().signal })
  } finally {
    await log.written(LOG_GRACE)
  }
}
