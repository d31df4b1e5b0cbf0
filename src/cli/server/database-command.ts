/**
 * What commands that work directly on the database have in common.
 */
import { type Config, readConfig } from '../../config/config.ts'
import type { ServerLog } from '../../telemetry/log/log.ts'
import type { Io } from '../io.ts'
import { serveFlags } from './serve-flags.ts'

/** What such a command works with. */
export interface DatabaseCommand {
  readonly config: Config
  readonly log: ServerLog
  /** Interrupts the command. */
  readonly signal: AbortSignal
}

/** Reads the settings and opens the log. @param settings Values by variable, which win over the options. */
export async function openDatabaseCommand(
  io: Io,
  options: Readonly<Record<string, unknown>>,
  settings: Readonly<Record<string, string>> = {},
): Promise<DatabaseCommand> {
  const config = readConfig({ ...serveFlags(options), ...settings }, io.env)
  // Imported here, as the server is by each command: commands that call the API start twice as fast without either.
  const { openLog } = await import('../../telemetry/log/log.ts')
  return { config, log: openLog(config.logLevel), signal: io.signal ?? new AbortController().signal }
}
