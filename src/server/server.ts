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
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import { CleanupStack } from './cleanup-stack.ts'
import { createCertificateReader, openCertificateVerifier } from './client-certificates.ts'
import { checkConfigFiles } from './config-files.ts'
import { createConsolePage, createPeopleProvider } from './console.ts'
import { databaseOptions, openPrimary, openUntilDisposed, startEmbedded } from './database.ts'
import { setUpInstance } from './instance-setup.ts'

import { PublicListener } from './public-listener.ts'
import { startReplica } from './replica.ts'
import { createServices } from './services.ts'
import { GRACE, limitLastWrites } from './stop-limit.ts'
import { systemClock } from './system-clock.ts'
import { observeReplica, startTelemetry } from './telemetry.ts'

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
  const { metrics, tracing, around, onAnswered } = await startTelemetry(config, log, { stack, servesMetrics })

  await checkConfigFiles(config)
  const certificates = await openCertificateVerifier(config, { log, stack })

  // The port is opened before the database, because the base URL in the credentials file may depend on it.
  const contexts = new RequestContexts(createAddressReader(config.trustedProxies), createCertificateReader(config))
  const listener = new PublicListener({ config, log, contexts, around, onAnswered })
  stack.defer(() => listener.close(GRACE))
  if (!opensWhenReady) await listener.open()
  const { baseUrl } = listener

  const embeddedIn = socketFolder ?? (await startEmbedded(config, log, { stack, signal }))
  const where = databaseOptions(config, embeddedIn, { log, stack })
  const database = openUntilDisposed(where, stack)
  const primaryDatabase = openPrimary(config, log, stack)
  const databases = primaryDatabase === null ? [database] : [database, primaryDatabase]
  const startLastWrites = limitLastWrites({ databases, clock: systemClock, log, stack })
  const waiting = { databaseUrl: where.url, log, signal, onWaiting: (reason: string) => listener.routing.wait(reason) }
  const shared = { config, log, stack, database, baseUrl, tracing, metrics }
  const instance = await setUpInstance({ ...shared, waiting })
  const started = await startReplica(instance, { ...shared, where, waiting })
  const { replica } = started
  const openIdProvider = await createPeopleProvider(config, baseUrl)
  const services = createServices({
    ...shared,
    ...instance,
    ...started,
    primaryDatabase,
    openIdProvider,
    certificates,
    contexts,
    stopping: listener.routing.stopping,
  })
  const endpoints = {
    ...services,
    console: await createConsolePage(config),
    readiness: () => replica.readiness(),
    canAdminister: () => replica.guard.isFresh() && replica.guard.isCurrent(),
  }
  listener.routing.serve(endpoints)
  observeReplica(metrics, { ...started, database, primaryDatabase })
  metrics.observeConnections(() => listener.connections())
  await listener.open()
  stack.defer(startLastWrites)
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
    initialised: instance.isNew,
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
