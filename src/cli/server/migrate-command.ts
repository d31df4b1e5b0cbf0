/**
 * `keyturn migrate`: brings the schema of the database up to date without starting a server.
 */
import { Command } from 'commander'
import type { Io } from '../io.ts'
import { runDatabaseCommand } from './database-command.ts'
import { withDatabaseFlags } from './serve-flags.ts'

/** The command. */
export function migrateCommand(io: Io): Command {
  return withDatabaseFlags(new Command('migrate')).action((options: Record<string, unknown>) =>
    runDatabaseCommand(io, options, async ({ config, log, signal }) => {
      const { migrateDatabase } = await import('../../server/migrate.ts')
      const applied = await migrateDatabase(config, log, signal)
      io.stdout.write(applied.length === 0 ? 'The schema is up to date.\n' : `Applied: ${applied.join(', ')}.\n`)
    }),
  )
}
