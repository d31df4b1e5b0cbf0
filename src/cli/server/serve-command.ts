/**
 * `keyturn serve`: runs the server until a signal stops it, in this process or in several.
 */
import cluster from 'node:cluster'
import { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import type { StopOptions } from '../../server/server.ts'
import type { ServerLog } from '../../telemetry/log/log.ts'
import { describeFailure, exitCodeOf } from '../failure.ts'
import type { Io } from '../io.ts'
import { configFrom, withSettingFlags } from './setting-flags.ts'
import { drainsAt, firstSignal, STOP_SIGNALS } from './signals.ts'

interface Serving {
  readonly listenUrl: string
  readonly baseUrl: string
  readonly initialised: boolean
}

/** How long the last lines of the log may take to be written, in milliseconds. */
const LOG_GRACE = 1_000

export function serveCommand(io: Io): Command {
  return withSettingFlags(new Command('serve')).action(async (options: Record<string, unknown>) => {
    const config = configFrom(io, options)
    if (config.workers === 1) await serve(io, config)
    else if (cluster.isPrimary) await serveWithWorkers(io, config)
    else await serveAsWorker(config)
  })
}

async function serve(io: Io, config: Config): Promise<void> {
  const stopping = new AbortController()
  const stopped = firstSignal()
  void stopped.then(() => stopping.abort())
  // Loaded here, not above: commands that talk to a server start twice as fast without one inside.
  const [{ startServer }, { openLog }] = await Promise.all([
    import('../../server/server.ts'),
    import('../../telemetry/log/log.ts'),
  ])
  const log = openLog(config.logLevel)
  const starting = startServer(config, log, { signal: stopping.signal })
  const server = await starting.catch((error: unknown) => {
    // Stopped before it was ready, for example while it waited for the database.
    if (!stopping.signal.aborted) throw error
  })
  if (server === undefined) return
  announce(io, server, config)
  // A second signal has no handler any more, so it ends a process that takes too long to stop.
  const signal = await stopped
  await stopWithLastLines(() => server.stop({ drains: drainsAt(signal) }), log)
}

async function serveWithWorkers(io: Io, config: Config): Promise<void> {
  const stopped = firstSignal()
  const [{ createWorkers }, { openLog }] = await Promise.all([
    import('../../workers/workers.ts'),
    import('../../telemetry/log/log.ts'),
  ])
  const log = openLog(config.logLevel)
  const workers = createWorkers(config, log)
  const stopping = stopped.then((first) => {
    void firstSignal().then((signal) => {
      // Workers that hang would outlive this process, which the signal ends next.
      workers.kill()
      process.kill(process.pid, signal)
    })
    return workers.stop({ drains: drainsAt(first) })
  })
  const server = await workers.start()
  if (server !== undefined) announce(io, server, config)
  await stopWithLastLines(() => stopping, log)
}

async function serveAsWorker(config: Config): Promise<void> {
  // Ctrl-C reaches every process of the group, so a worker is stopped twice: by the signal and by the primary.
  const signalled = Promise.withResolvers<StopOptions>()
  for (const signal of STOP_SIGNALS) process.on(signal, () => signalled.resolve({ drains: drainsAt(signal) }))
  const [{ runWorker }, { openLog }] = await Promise.all([
    import('../../workers/worker.ts'),
    import('../../telemetry/log/log.ts'),
  ])
  const log = openLog(config.logLevel)
  const running = runWorker({ config, log, signalled: signalled.promise, describe: describeFailure })
  const failure = await running.catch((error: unknown) => {
    log.error({ err: error }, 'the worker did not stop cleanly')
    return error
  })
  await log.written(LOG_GRACE)
  // The channel to the primary is open, and a start that was cut off may be under way.
  process.exit(failure === undefined ? 0 : exitCodeOf(failure))
}

/** Ends the process even if the reader of its log blocks: the last lines are dropped then. */
async function stopWithLastLines(stop: () => Promise<void>, log: ServerLog): Promise<void> {
  try {
    await stop()
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    throw error
  } finally {
    if (!(await log.written(LOG_GRACE))) process.exit()
  }
}

function announce(io: Io, { listenUrl, baseUrl, initialised }: Serving, config: Config): void {
  const { initialCredentialsFile, bootstrapFile, tls } = config
  const lines = [`Keyturn listens on ${listenUrl} (base URL ${baseUrl}).`]
  if (bootstrapFile !== null) {
    lines.push(initialised ? `The instance begins with ${bootstrapFile}.` : 'The instance was set up before.')
  } else {
    const file = initialCredentialsFile ?? config.credentialsFile
    const written =
      initialCredentialsFile === null
        ? `The administrator's credentials were written to ${file}. Keep that file safe.`
        : `The administrator has the credentials in ${file}.`
    const before = `The instance was set up before; its credentials file is ${file} unless it was moved.`
    lines.push(
      initialised ? written : before,
      `Next: ${io.env.npm_command === undefined ? '' : 'npx '}keyturn keys list --credentials ${file}`,
    )
    if (tls !== null)
      lines.push('If a private authority has issued the certificate of the server, add --ca with its file.')
  }
  io.stdout.write(`${lines.join('\n')}\n`)
}
