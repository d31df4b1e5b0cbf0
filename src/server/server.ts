/**
 * Starts a server from its parts, and stops them in the reverse order.
 *
 * This folder is the composition root: the parts of `app/`, `crypto/`, `storage/`, `oauth/`, `rpc/` and `http/` are made in it,
 * and nowhere else.
 */
import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config/config.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { createAddressReader } from '../http/requests/client-address.ts'
import { RequestContexts } from '../http/requests/request-context.ts'
import type { ServerLog } from '../telemetry/log/log.ts'
import { logRequests } from '../telemetry/log/request-log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/metrics.ts'
import { serveMetrics } from '../telemetry/metrics/metrics-server.ts'
import { startTracing } from '../telemetry/tracing/tracing.ts'
import { CleanupStack } from './cleanup-stack.ts'
import { createCertificateReader, openCertificateVerifier } from './client-certificates.ts'
import { checkConfigFiles } from './config-files.ts'
import { createConsolePage, createPeopleProvider } from './console.ts'
import { databaseOptions, openPrimary, openUntilDisposed, startEmbedded } from './database.ts'
import { startInstance } from './instance-start.ts'
import { PublicListener } from './public-listener.ts'
import { createServices } from './services.ts'
import { GRACE, LAST_WRITES } from './stop-limit.ts'
import { systemTime as now } from './system-clock.ts'

export interface RunningServer {
  /** The base URL: where clients reach it, and the issuer of its tokens. */
  readonly baseUrl: string
  /** Where it listens, for example `http://127.0.0.1:8080`. */
  readonly listenUrl: string
  /** Whether this start filled an empty instance and wrote the credentials file. */
  readonly initialised: boolean
  /** The metrics of this process, to be added to those of other workers. */
  readonly metrics: Metrics['registry']
  /** Shuts down gracefully: drains if asked to, finishes requests in flight, releases everything. */
  stop(options?: StopOptions): Promise<void>
}

export interface StopOptions {
  /** Whether to drain first, for the configured time. Default false. */
  readonly drains?: boolean
}

interface StartOptions {
  /** Whether it listens on the metrics address itself, as a process on its own does. Default true. */
  readonly servesMetrics?: boolean
  /**
   * Whether the port is opened when the server is ready, because other workers serve it. Then the base URL must be configured. Default false:
   * it is opened at once, and `/readyz` says what the start waits for.
   */
  readonly opensWhenReady?: boolean
  /** Of the embedded database, if that is the configured one and another process has started it. */
  readonly socketFolder?: string | null
  /** Aborts the start: the call then throws its reason. It has no effect on a started server. */
  readonly signal?: AbortSignal
}

const TOO_LATE = 'the database did not confirm the last writes in time: refusals and dates of last use may be lost'

/**
 * Starts a server. It listens at once, unless other workers serve the port, and is not ready until it can serve. It waits for
 * a PostgreSQL server that cannot be reached.
 * @throws {Error} that says what to do, after everything that was started is stopped.
 */
export async function startServer(config: Config, log: ServerLog, options: StartOptions = {}): Promise<RunningServer> {
  const stack = new CleanupStack()
  try {
    const server = await start(config, log, { ...options, stack })
    keepHeapSmall()
    return server
  } catch (error) {
    await stack
      .disposeAsync()
      .catch((failure: unknown) => log.error({ err: failure }, 'the server did not stop cleanly'))
    throw error
  }
}

async function start(
  config: Config,
  log: ServerLog,
  { stack, ...options }: StartOptions & { readonly stack: CleanupStack },
): Promise<RunningServer> {
  const { servesMetrics = true, opensWhenReady = false, socketFolder, signal = new AbortController().signal } = options
  const metrics = createMetrics()
  stack.defer(() => metrics.stop())
  if (servesMetrics) stack.defer(await serveMetrics(config.metricsListen, () => metrics.registry.metrics(), log))
  const tracing = await startTracing(config, log)
  stack.defer(() => tracing.stop())

  await checkConfigFiles(config)
  const certificates = await openCertificateVerifier(config, { log, stack })

  // The port is opened before the database, because the base URL in the credentials file may depend on it.
  const contexts = new RequestContexts(createAddressReader(config.trustedProxies), createCertificateReader(config))
  const logRequest = logRequests(log.requests)
  const listener = new PublicListener({
    config,
    log,
    contexts,
    around: (handler) => tracing.around(metrics.around(handler)),
    onAnswered: (answered) => {
      metrics.recordRequest(answered)
      logRequest(answered)
      tracing.end(answered)
    },
  })
  stack.defer(() => listener.close(GRACE))
  if (!opensWhenReady) await listener.open()
  const { baseUrl } = listener

  const embeddedIn = socketFolder ?? (await startEmbedded(config, log, { stack, signal }))
  const where = databaseOptions(config, embeddedIn, log)
  const database = openUntilDisposed(where, stack)
  const primaryDatabase = openPrimary(config, log, stack)
  let lastWrites: NodeJS.Timeout | undefined
  stack.defer(() => clearTimeout(lastWrites))
  const onWaiting = (reason: string) => listener.wait(reason)
  const parts = { config, log, stack, database, where, baseUrl, tracing, signal, onWaiting }
  const started = await startInstance(parts)
  const { replica, feed } = started
  const services = createServices({
    ...parts,
    ...started,
    metrics,
    primaryDatabase,
    openIdProvider: await createPeopleProvider(config, baseUrl),
    certificates,
    contexts,
    stopping: listener.stopping,
  })
  listener.serve({
    ...services,
    console: await createConsolePage(config),
    readiness: () => replica.readiness(),
    canAdminister: () => replica.guard.isFresh() && replica.guard.isCurrent(),
  })
  const pools = () => ({
    ...database.pools(),
    ...(primaryDatabase === null ? {} : { primary: primaryDatabase.pools().administration }),
  })
  metrics.observe({ replica, feed, pools, connections: () => listener.connections(), now })
  await listener.open()
  stack.defer(() => {
    lastWrites = setTimeout(() => {
      log.warn({ milliseconds: LAST_WRITES }, TOO_LATE)
      // The stack closes them again, which reports a failure.
      for (const each of [database, primaryDatabase]) void each?.close().catch(() => {})
    }, LAST_WRITES)
  })
  // Requests in flight need everything else, so the port is closed first.
  stack.defer(() => listener.close(GRACE))
  let stopping: Promise<void> | undefined
  const stop = async ({ drains = false }: StopOptions): Promise<void> => {
    if (drains) await drain(listener, config.drainSeconds, log)
    await stack.disposeAsync()
  }
  return {
    baseUrl,
    listenUrl: listener.listenUrl,
    initialised: started.isNew,
    metrics: metrics.registry,
    stop: (options = {}) => (stopping ??= stop(options)),
  }
}

async function drain(listener: PublicListener, seconds: number, log: Log): Promise<void> {
  if (seconds === 0) return
  log.info({ seconds }, 'draining: not ready any more, and serving on while clients go elsewhere')
  await listener.drain(seconds * 1000)
}

/**
 * Lets V8 collect the heap when it has grown by 40 %. By default it grows to a multiple: 100 MB more with many users.
 * Full collections take 0.2 % of the time.
 *
 * Called after the start: code that is being loaded is not garbage, and collections would only slow the start down.
 */
function keepHeapSmall(): void {
  // V8 reads the flag at each collection. A version without it prints a warning.
  setFlagsFromString('--heap-growing-percent=40')
}
