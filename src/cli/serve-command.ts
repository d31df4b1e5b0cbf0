/**
 * `keyturn serve`: runs the server until it is told to stop.
 */
import { once } from 'node:events'
import { Command } from 'commander'
import { readConfig } from '../config/config.ts'
import { serveFlags, withServeFlags } from './serve-flags.ts'

/** How long the last lines of the log may take to be written, in milliseconds. */
const LOG_GRACE = 1_000

/** The command. */
export function serveCommand(): Command {
  return withServeFlags(new Command('serve'))
    .description('Run the server. Settings are variables (see the README); some are flags too, and flags win.')
    .action(async (options: Record<string, unknown>) => {
      const config = readConfig(serveFlags(options))
      const stopped = firstSignal()
      // Loaded here, not above: commands that talk to a server start twice as fast without one inside.
      const [{ startServer }, { openLog }] = await Promise.all([
        import('../server/server.ts'),
        import('../server/log.ts'),
      ])
      const log = openLog(config.logLevel)
      const server = await startServer(config, log)
      process.stdout.write(
        [
          `Keyturn listens on ${server.listenUrl} (base URL ${server.baseUrl}).`,
          server.initialised
            ? `The administrator's credentials were written to ${config.credentialsFile}. Keep that file safe.`
            : `The instance was set up before; its credentials file is ${config.credentialsFile} unless it was moved.`,
          `Next: npx keyturn keys list --credentials ${config.credentialsFile}`,
          '',
        ].join('\n'),
      )
      await stopped
      await server.stop()
      // Otherwise the process would live on until somebody reads what it has to say.
      if (!(await log.written(LOG_GRACE))) process.exit()
    })
}

/** A second signal finds no listener any more, so it ends a process that takes too long to stop. */
async function firstSignal(): Promise<void> {
  const listening = new AbortController()
  const { signal } = listening
  await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })])
  listening.abort()
}
