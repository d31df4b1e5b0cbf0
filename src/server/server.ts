/**
 * Starts a server from its parts, and stops them in the reverse order.
 *
 * This folder is the composition root: the parts of `app/`, `crypto/`, `storage/`, `oauth/`, `rpc/` and `http/` are made in it,
 * and nowhere else.
 */
import { randomUUID } from 'node:crypto'
import { AttemptLimiter } from '../app/access/attempt-limiter.ts'
import { DecryptabilityCheck } from '../app/keys/decryptability-check.ts'
import { bootstrap } from '../app/replica/bootstrap.ts'
import { InstanceClock } from '../app/replica/instance-clock.ts'
import { settleIssuer } from '../app/replica/issuer.ts'
import { RecordTarget } from '../app/replica/record-target.ts'
import { Replica } from '../app/replica/replica.ts'
import { UnreadableRows } from '../app/replica/unreadable-rows.ts'
import type { Config } from '../config/config.ts'
import { generateIntegrity } from '../crypto/integrity-key.ts'
import { createKeyPairGenerator } from '../crypto/key-pair.ts'
import { createKeySealer } from '../crypto/sealed-key.ts'
import { createSignerFactory } from '../crypto/signer.ts'
import { activeKey } from '../domain/keys/key-ring.ts'
import type { SealedWebKey } from '../domain/keys/sealed-keys.ts'
import type { Log, Readiness } from '../domain/ports.ts'
import { createAddressReader } from '../http/requests/client-address.ts'
import { RequestContexts } from '../http/requests/request-context.ts'
import { readInitialCredentials } from '../secret-files/initial-credentials.ts'
import { masterKeySource } from '../secret-files/master-key-source.ts'
import { startEpoch } from '../storage/audit/audit-reader.ts'
import { createInstanceInitializer } from '../storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../storage/instance/instance-reader.ts'
import { createIssuerStore } from '../storage/instance/issuer-store.ts'
import { createSealedKeyStore } from '../storage/keys/sealed-key-store.ts'
import { createChangeFeed } from '../storage/postgres/change-feed.ts'
import { shareOut } from '../storage/postgres/postgres-pool.ts'
import type { ServerLog } from '../telemetry/log/log.ts'
import { logRequests } from '../telemetry/log/request-log.ts'
import { createMetrics, type MetricFamilies, NO_METRICS } from '../telemetry/metrics/metrics.ts'
import { serveMetrics } from '../telemetry/metrics/metrics-server.ts'
import { traceSignatures } from '../telemetry/tracing/signature-spans.ts'
import { startTracing } from '../telemetry/tracing/tracing.ts'
import { createAuditFeed, startAuditExport, startCredentialWatch } from './audit-events.ts'
import { readBootstrapFile } from './bootstrap-file.ts'
import { CleanupStack, withCleanup } from './cleanup-stack.ts'
import { createCertificateReader, openCertificateVerifier } from './client-certificates.ts'
import { adminCredentialsFile, checkConfigFiles } from './config-files.ts'
import { createConsolePage, createPeopleProvider } from './console.ts'
import { databaseOptions, openConfigured, openPrimary, openUntilDisposed, startEmbedded } from './database.ts'
import { whenAvailable } from './database-wait.ts'
import { keepHeapSmall } from './heap.ts'
import { bringUpToDate, loadIntegrity } from './integrity.ts'
import { limitLastWrites } from './last-writes.ts'
import { PublicListener } from './public-listener.ts'
import { createApi, createAuditTrail, createTokenEndpoints } from './services.ts'
import { GRACE } from './stop-limit.ts'
import { systemClock, systemTime } from './system-clock.ts'

/** A started server. */
export interface RunningServer {
  /** The base URL: where clients reach it, and the issuer of its tokens. */
  readonly baseUrl: string
  /** Where it listens, for example `http://127.0.0.1:8080`. */
  readonly listenUrl: string
  /** Whether this start filled an empty instance and wrote the credentials file. */
  readonly initialised: boolean
  /** The metrics of this process, to be added to those of other workers. */
  metrics(): Promise<MetricFamilies>
  /** Shuts down gracefully: drains if asked to, finishes requests in flight, releases everything. */
  stop(options?: StopOptions): Promise<void>
}

/** How to stop. */
export interface StopOptions {
  /** Whether to drain first, for the configured time. Default false. */
  readonly drains?: boolean
}

/** How to start. */
interface StartOptions {
  /** Whether it listens on the metrics address itself, as a process on its own does. Default true. */
  readonly servesMetrics?: boolean
  /**
   * Given if other workers serve the port: then it is opened when the server is ready, or earlier when this resolves to
   * the port. The base URL must be configured. By default the port is opened at once, and `/readyz` says what the start
   * waits for.
   */
  readonly openEarly?: Promise<number>
  /** Of the embedded database, if that is the configured one and another process has started it. */
  readonly socketFolder?: string | null
  /** Aborts the start: the call then throws its reason. It has no effect on a started server. */
  readonly signal?: AbortSignal
}

/**
 * Starts a server. It listens at once, unless other workers serve the port, and is not ready until it can serve. It waits for
 * a PostgreSQL server that cannot be reached.
 *
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

/**
 * Brings the schema of the configured database up to date.
 *
 * @param signal Ends the command for the master keys.
 * @returns The names of the migrations that were applied.
 */
export async function migrateDatabase(config: Config, log: Log, signal: AbortSignal): Promise<readonly string[]> {
  return await withCleanup(async (stack) => {
    const source = masterKeySource(config, log)
    return await bringUpToDate(await openConfigured(config, log, { stack, signal }), { source, log, signal })
  })
}

async function start(
  config: Config,
  log: ServerLog,
  { stack, ...options }: StartOptions & { readonly stack: CleanupStack },
): Promise<RunningServer> {
  const { servesMetrics = true, openEarly, socketFolder, signal = new AbortController().signal } = options
  const metrics = config.metricsListen === null ? NO_METRICS : createMetrics()
  stack.defer(() => metrics.stop())
  if (servesMetrics) stack.defer(await serveMetrics(config.metricsListen, () => metrics.text(), log))
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
  if (openEarly === undefined) await listener.open()
  else
    openEarly
      .then((port) => listener.open(port))
      .catch((error: unknown) => log.error({ err: error }, 'the port is not open'))
  const { baseUrl } = listener

  const embeddedIn = socketFolder ?? (await startEmbedded(config, log, { stack, signal }))
  const where = databaseOptions(config, embeddedIn, { log, stack })
  const database = openUntilDisposed(where, stack)
  const primaryDatabase = openPrimary(config, log, stack)
  const databases = primaryDatabase === null ? [database] : [database, primaryDatabase]
  const startLastWrites = limitLastWrites({ databases, clock: systemClock, log, stack })
  const waiting = { databaseUrl: where.url, log, signal, onWaiting: (reason: string) => listener.wait(reason) }
  const source = masterKeySource(config, log)
  const applied = await whenAvailable(() => bringUpToDate(database, { source, log, signal }), waiting)
  if (applied.length > 0) log.info({ migrations: applied }, 'the schema of the database was brought up to date')

  if (await whenAvailable(() => startEpoch(database), waiting))
    log.info({}, 'the database was loaded into another server: the audit trail goes on after what it had')

  const initializer = createInstanceInitializer(database)
  const isEmpty = !(await whenAvailable(() => initializer.isInitialised(), waiting))
  const masterKeys = await source.load({ mayGenerate: isEmpty, signal })
  const sealer = createKeySealer(masterKeys)
  const generator = tracing.calls('KeyPairGenerator', createKeyPairGenerator(sealer))
  const { initialCredentialsFile } = config
  const given =
    isEmpty && initialCredentialsFile !== null ? await readInitialCredentials(initialCredentialsFile, baseUrl) : null
  const bootstrapFile = await readBootstrapFile(config, { isEmpty, baseUrl, log })
  const initialised = await whenAvailable(
    () =>
      bootstrap({
        initializer,
        generator,
        newIntegrity: () => generateIntegrity(masterKeys),
        credentials: adminCredentialsFile(config, baseUrl, log),
        given,
        configuration: bootstrapFile?.configuration ?? null,
        issuer: baseUrl,
        newId: randomUUID,
      }),
    waiting,
  )

  if (initialised && bootstrapFile !== null)
    log.info({ clientIds: bootstrapFile.ownerClientIds() }, 'the instance begins with these owners')

  // Loaded first: all other rows are verified with it.
  const {
    publicKeys,
    secrets,
    dpopNonces,
    console: consoleSecrets,
  } = await whenAvailable(() => loadIntegrity(database, masterKeys), waiting)

  const issuers = createIssuerStore(database)
  // With an embedded database no other replica goes on under the old issuer.
  const followsPort = config.baseUrl === null && config.database.kind === 'embedded'
  await whenAvailable(() => settleIssuer({ store: issuers, issuer: baseUrl, followsPort, log }), waiting)

  const signers = createSignerFactory(sealer)
  const time = new InstanceClock({ machine: systemTime, monotonic: systemClock.monotonic, log })
  const feed = createChangeFeed(where)
  const replica = new Replica({
    reader: tracing.calls('InstanceReader', createInstanceReader({ db: database.serving }, publicKeys)),
    feed,
    signers: metrics.countTokens(traceSignatures(signers, tracing)),
    clock: systemClock,
    time,
    log,
    issuer: baseUrl,
    // One connection is for comparing versions.
    maxReads: shareOut(config.databaseMaxConnections, config.changeFeed).serving - 1,
    maxUsers: config.maxCachedUsers,
    maxStalenessSeconds: config.maxStalenessSeconds,
    primaryUrl: config.primary.url,
  })
  stack.defer(() => replica.stop())
  await whenAvailable(() => replica.start(), waiting)
  assertCanSign(replica)
  const rows = new UnreadableRows({ clock: systemClock, log })
  const sealedKeys = rows.around(tracing.calls('SealedKeyStore', createSealedKeyStore(database)))
  const check = { assertOpens: (key: SealedWebKey) => sealer.assertOpens(key.sealed, key) }
  const decryptability = new DecryptabilityCheck({ keys: sealedKeys, check, log })
  // Logged at the start, so that the operator can act before the day on which one of them has to sign.
  await whenAvailable(() => decryptability.checkInitialKeys(), waiting)

  const readiness = (): Readiness => {
    const readiness = replica.readiness()
    return readiness.ready ? { ...readiness, warnings: [...readiness.warnings, ...time.warnings()] } : readiness
  }
  const base = {
    config,
    log,
    stack,
    database,
    primaryDatabase,
    records: new RecordTarget({ replica, hasPrimary: primaryDatabase !== null }),
    generator,
    secrets,
    publicKeys,
    dpopNonces,
    consoleSecrets,
    openIdProvider: await createPeopleProvider(config, baseUrl),
    masterKeys,
    replica,
    decryptability,
    rows,
    readiness,
    clockOffsetSeconds: () => time.offsetSeconds,
    now: time.now,
    changeTime: time.changeTime,
    baseUrl,
    tracing,
    metrics,
    stopping: listener.stopping,
    contexts,
    certificates,
    attempts: new AttemptLimiter({ clock: systemClock }),
  }
  const parts = { ...base, audit: createAuditTrail(base), auditFeed: createAuditFeed(base) }
  await startAuditExport(parts)
  startCredentialWatch(parts)
  listener.serve({
    oauth: createTokenEndpoints(parts),
    rpc: createApi(parts),
    console: await createConsolePage(config),
    readiness,
    canAdminister: () => replica.isFresh() && replica.isCurrent(),
  })
  metrics.observe(replica, time.now)
  metrics.observeDatabase({
    reachable: () => replica.isReachable(),
    standby: () => replica.isStandby(),
    pools: () => ({
      ...database.pools(),
      ...(primaryDatabase === null ? {} : { primary: primaryDatabase.pools().administration }),
    }),
    changeFeed: () => feed.status(),
    clockOffsetSeconds: () => time.offsetSeconds,
    clockHeldSeconds: () => time.heldSeconds,
  })
  replica.onLag(metrics.recordChangeLag)
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
    initialised,
    metrics: () => metrics.families(),
    stop: (options = {}) => (stopping ??= stop(options)),
  }
}

async function drain(listener: PublicListener, seconds: number, log: Log): Promise<void> {
  if (seconds === 0) return
  log.info({ seconds }, 'draining: not ready any more, and serving on while clients go elsewhere')
  await listener.drain(seconds * 1000)
}

function assertCanSign(replica: Replica): void {
  const { ring, signer } = replica.keys()
  const active = activeKey(ring)
  if (active !== undefined && signer === null) {
    throw new Error(
      `the private key of the active web key ${active.keyId} cannot be opened with the configured master keys: ` +
        'add the one that sealed it to KEYTURN_MASTER_KEYS (in an embedded setup: restore master.key in the data directory)',
    )
  }
}
