/**
 * `keyturn recover`: restores access for the operator when the secret of every owner is lost.
 */
import { Command } from 'commander'
import type { Io } from '../io.ts'
import { runDatabaseCommand } from './database-command.ts'
import { withDatabaseFlags } from './serve-flags.ts'

/** The settings of what the credentials file says, and of where it is. */
const WRITTEN = ['KEYTURN_LISTEN', 'KEYTURN_BASE_URL', 'KEYTURN_CREDENTIALS']

const CHANGES = {
  none: '',
  enabled: ' It was disabled and is enabled now.',
  created: ' There was no owner that could be given a secret, so it was created.',
} as const

/** The command. */
export function recoverCommand(io: Io): Command {
  return withDatabaseFlags(new Command('recover'), WRITTEN).action((options: Record<string, unknown>) =>
    runDatabaseCommand(io, options, async ({ config, log, signal }) => {
      const { recoverOwner } = await import('../../server/maintenance/recover.ts')
      const { clientId, change } = await recoverOwner(config, log, signal)
      io.stdout.write(
        [
          `A new secret of the owner ${clientId} was written to ${config.credentialsFile}.${CHANGES[change]}`,
          'Next: look through the secrets of the owners, and deactivate those that may be in wrong hands.',
          '',
        ].join('\n'),
      )
    }),
  )
}
