/**
 * Options that several commands have.
 */
import type { Command } from 'commander'

/** Values of the options of a command that talks to a server. */
export interface RemoteOptions {
  readonly credentials?: string
  readonly json?: boolean
}

/** Adds the options of a command that talks to a server. @param json What it prints with `--json`. */
export function withRemoteOptions(command: Command): Command {
  return command
    .option(
      '--credentials <file>',
      'credentials file (default: KEYTURN_CREDENTIALS, or admin.json in the data directory)',
    )
    .option('--json', 'print what the API returns, as JSON')
}
