/**
 * `keyturn migrate`: brings the schema of the database up to date without starting a server.
 */
import { Command } from 'commander'
import { readConfig } from '../../config/config.ts'
import { type Io, signalOf } from '../io.ts'
import { serveFlags, withServeFlags } from './serve-flags.ts'

/** The command. */
export function migrateCommand(io: Io): Command {
  return withServeFlags(new Command('migrate'))
    .description('Bring the schema of the database up to date. "keyturn serve" does it too when it starts.')
    .action(async (options: Record<string, unknown>) => {
      const config = readConfig(serveFlags(options), io.env)
      // Loaded here, not above: commands that talk to a server start twice as fast without one inside.
      const [{ migrateDatabase }, { openLog }] = await Promise.all([
        import('../../server/server.ts'),
        import('../../telemetry/log/log.ts'),
      ])
      const applied = await migrateDatabase(config, openLog(config.logLevel), signalOf(io))
      io.stdout.write(applied.length === 0 ? 'The schema is up to date.\n' : `Applied: ${applied.join(', ')}.\n`)
    })
}
