/**
 * `keyturn recover`: restores access for the operator when the secret of every owner is lost.
 */
import { Command } from 'commander'
import { readConfig } from '../../config/config.ts'
import { type Io, signalOf } from '../io.ts'
import { serveFlags, withServeFlags } from './serve-flags.ts'

const CHANGES = {
  none: '',
  enabled: ' It was disabled and is enabled now.',
  created: ' There was no owner that could be given a secret, so it was created.',
} as const

/** The command. */
export function recoverCommand(io: Io): Command {
  return withServeFlags(new Command('recover'))
    .description(
      'Make a new owner secret directly in the database when all are lost, and write the credentials file. ' +
        'Needs the settings of the server, with its master keys; an embedded database must not be in use.',
    )
    .action(async (options: Record<string, unknown>) => {
      const config = readConfig(serveFlags(options), io.env)
      // Loaded here, not above: commands that talk to a server start twice as fast without one inside.
      const [{ recoverOwner }, { openLog }] = await Promise.all([
        import('../../server/recover.ts'),
        import('../../telemetry/log/log.ts'),
      ])
      const { clientId, change } = await recoverOwner(config, openLog(config.logLevel), signalOf(io))
      io.stdout.write(
        [
          `A new secret of the owner ${clientId} was written to ${config.credentialsFile}.${CHANGES[change]}`,
          'Next: look through the secrets of the owners, and deactivate those that may be in wrong hands.',
          '',
        ].join('\n'),
      )
    })
}
