/** The configuration of a server, and how its mistakes are reported. What each setting means is in `settings.ts`. */
import { join, resolve } from 'node:path'
import type { Variables } from './settings.ts'
import type { TraceSampling } from './trace-sampling.ts'

/** The generated master key, in the data directory. */
export const MASTER_KEY_FILE = 'master.key'

export type Config = Readonly<ReturnType<typeof toConfig>> & {
  /** Null: there is no collector. */
  readonly traceSampling: TraceSampling | null
  /** What is in force, by variable, without secrets. */
  readonly shown: Readonly<Record<string, string | number | null>>
}

/** All mistakes in the settings. The messages repeat no value that may be secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(['the configuration is not valid:', ...problems.map((problem) => `  ${problem}`)].join('\n'))
    this.problems = problems
  }
}

export function toConfig(settings: Variables) {
  const dataDir = resolve(settings.KEYTURN_DATA_DIR)
  return {
    listen: settings.KEYTURN_LISTEN,
    /** Null: `http://localhost:<port>`, or https with TLS. */
    baseUrl: settings.KEYTURN_BASE_URL ?? null,
    database: databaseFrom(settings),
    databaseMaxConnections: settings.KEYTURN_DATABASE_MAX_CONNECTIONS,
    changeFeed: settings.KEYTURN_CHANGE_FEED,
    /** What a replica whose database is a standby needs of its primary. */
    primary: {
      url: settings.KEYTURN_PRIMARY_URL ?? null,
      databaseUrl: settings.KEYTURN_PRIMARY_DATABASE_URL ?? null,
    },
    workers: settings.KEYTURN_WORKERS,
    dataDir,
    masterKeys: masterKeysFrom(settings),
    credentialsFile: resolve(settings.KEYTURN_CREDENTIALS ?? join(dataDir, 'admin.json')),
    initialCredentialsFile: settings.KEYTURN_INITIAL_CREDENTIALS_FILE ?? null,
    bootstrapFile: settings.KEYTURN_BOOTSTRAP_FILE ?? null,
    tls: tlsFrom(settings),
    mtls: { source: settings.KEYTURN_MTLS, caFile: settings.KEYTURN_MTLS_CA_FILE ?? null },
    trustedProxies: settings.KEYTURN_TRUSTED_PROXIES,
    issuerNetworks: settings.KEYTURN_ISSUER_NETWORKS,
    outboundNetworks: settings.KEYTURN_OUTBOUND_NETWORKS,
    drainSeconds: settings.KEYTURN_DRAIN_SECONDS,
    jwksMaxAgeSeconds: settings.KEYTURN_JWKS_MAX_AGE,
    tokenLifetimeSeconds: settings.KEYTURN_TOKEN_LIFETIME,
    assertionAudience: settings.KEYTURN_ASSERTION_AUDIENCE,
    activationGuard: settings.KEYTURN_ACTIVATION_GUARD,
    maxWebKeys: settings.KEYTURN_MAX_WEB_KEYS,
    maxCachedUsers: settings.KEYTURN_MAX_CACHED_USERS,
    maxStalenessSeconds: settings.KEYTURN_MAX_STALENESS,
    betaApi: settings.KEYTURN_BETA_API === 'on',
    zitadelApi: settings.KEYTURN_ZITADEL_API === 'on',
    console: settings.KEYTURN_CONSOLE === 'on',
    /** The OpenID provider at which people sign in, and Keyturn's registration there; null: there is none. */
    openId: openIdFrom(settings),
    auditRetentionDays: settings.KEYTURN_AUDIT_RETENTION,
    maxPatLifetimeDays: settings.KEYTURN_MAX_PAT_LIFETIME,
    /** Null: no metrics. */
    metricsListen: settings.KEYTURN_METRICS_LISTEN,
    /** The collector of traces; null: no traces. The exporter reads its other settings from the environment itself. */
    tracesTo: settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
    logLevel: settings.KEYTURN_LOG_LEVEL,
  }
}

function databaseFrom(settings: Variables) {
  const url = settings.KEYTURN_DATABASE_URL ?? settings.KEYTURN_DATABASE_URL_FILE
  return url === undefined ? ({ kind: 'embedded' } as const) : ({ kind: 'postgres', url } as const)
}

function tlsFrom(settings: Variables) {
  const { KEYTURN_TLS_CERT_FILE: certFile, KEYTURN_TLS_KEY_FILE: keyFile } = settings
  if (certFile === undefined || keyFile === undefined) return null
  return { certFile, keyFile, clientCaFile: settings.KEYTURN_TLS_CLIENT_CA_FILE ?? null }
}

function openIdFrom(settings: Variables) {
  const { KEYTURN_OPENID_ISSUER: issuer, KEYTURN_OPENID_CLIENT_ID: clientId, KEYTURN_OPENID_ROLES: roles } = settings
  if (issuer === undefined || clientId === undefined || roles === undefined) return null
  const clientSecretFile = settings.KEYTURN_OPENID_CLIENT_SECRET_FILE ?? null
  return { issuer, clientId, clientSecretFile, scopes: settings.KEYTURN_OPENID_SCOPES, roles }
}

function masterKeysFrom(settings: Variables) {
  const { KEYTURN_MASTER_KEYS: keys, KEYTURN_MASTER_KEYS_FILE: path, KEYTURN_MASTER_KEYS_COMMAND: argv } = settings
  if (keys !== undefined) return { kind: 'given', keys } as const
  if (path !== undefined) return { kind: 'file', path } as const
  return argv === undefined ? ({ kind: 'generated' } as const) : ({ kind: 'command', argv } as const)
}
