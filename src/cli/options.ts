/**
 * Options that several commands have.
 */
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from './connection/target.ts'
import { type OutputOptions, withOutputOptions } from './output.ts'

/** Values of the options of a command that talks to a server. */
export interface RemoteOptions extends ConnectionOptions, OutputOptions {}

/** Adds the options of a command that talks to a server. */
export function withRemoteOptions(command: Command): Command {
  return withOutputOptions(withConnectionOptions(command))
}

/** Adds the options that say which server to call, and as whom. */
export function withConnectionOptions(command: Command): Command {
  command
    .addOption(
      new Option(
        '--credentials <file>',
        'credentials file (default: KEYTURN_CREDENTIALS, the context in use, or admin.json in the data directory)',
      ).conflicts('context'),
    )
    .option('--context <name>', 'context of "keyturn login" (default: KEYTURN_CONTEXT, or the one in use)')
  return withTlsOptions(command)
}

/** Adds the options with files for TLS. */
export function withTlsOptions(command: Command): Command {
  return command
    .option('--ca <file>', 'certificates (PEM) of the authorities to trust (KEYTURN_CA_FILE)')
    .option('--client-cert <file>', 'client certificate (PEM), for mutual TLS (KEYTURN_CLIENT_CERT_FILE)')
    .option('--client-key <file>', 'private key (PEM) of the client certificate (KEYTURN_CLIENT_KEY_FILE)')
}
