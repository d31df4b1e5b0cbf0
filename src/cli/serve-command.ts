/**
 * `keyturn serve`: runs the server until it is told to stop.
 */
import { once } from 'node:events'
import { Command } from 'commander'
import { readConfig } from '../config/config.ts'
import { serveFlags, withServeFlags } from './serve-flags.ts'

/** The command. */
export function serveCommand(): Command {
  return withServeFlags(new Command('serve'))
    .description('Run the server. Settings are variables (see the README); some are flags too, and flags win.')
    .action(async (options: Record<string, unknown>) => {
      const config = readConfig(serveFlags(options))
      const stopping = new AbortController()
      const stopped = firstSignal().then(() => stopping.abort())
      // Loaded here, not above: commands that talk to a server start twice as fast without one inside.
      const [{ startServer }, { openLog }] = await Promise.all([
        import('../server/server.ts'),
        import('../server/log.ts'),
      ])
      const starting = startServer(config, openLog(config.logLevel), stopping.signal)
      const server = await starting.catch((error: unknown) => {
        // Told to stop before it was ready, for example while it waited for the database.
        if (!stopping.signal.aborted) throw error
      })
      if (server === undefined) return
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
    })
}

/** A second signal finds no listener any more, so it ends a process that takes too long to stop. */
async function firstSignal(): Promise<void> {
  const listening = new AbortController()
  const { signal } = listening
  await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })])
  listening.abort()
}
