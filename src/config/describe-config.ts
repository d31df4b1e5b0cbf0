/**
 * The effective settings for display, without secrets.
 */
import type { Config, OpenIdConfig } from './config.ts'
import { formatAddress, withoutPassword } from './values.ts'

/** The effective settings without secrets, by variable name. */
export function describeConfig(config: Config): Record<string, string | number | null> {
  return {
    KEYTURN_LISTEN: formatAddress(config.listen),
    KEYTURN_BASE_URL: config.baseUrl ?? defaultBaseUrl(config),
    KEYTURN_DATABASE_URL: config.database.kind === 'postgres' ? withoutPassword(config.database.url) : null,
    KEYTURN_DATABASE_MAX_CONNECTIONS: config.databaseMaxConnections,
    KEYTURN_PRIMARY_URL: config.primary.url,
    KEYTURN_PRIMARY_DATABASE_URL:
      config.primary.databaseUrl === null ? null : withoutPassword(config.primary.databaseUrl),
    KEYTURN_CHANGE_FEED: config.changeFeed,
    KEYTURN_WORKERS: config.workers,
    KEYTURN_DATA_DIR: config.dataDir,
    KEYTURN_MASTER_KEYS: config.masterKeys.kind === 'text' ? '(set)' : null,
    KEYTURN_MASTER_KEYS_FILE: config.masterKeys.kind === 'file' ? config.masterKeys.path : null,
    // Its arguments may hold a secret.
    KEYTURN_MASTER_KEYS_COMMAND: config.masterKeys.kind === 'command' ? `${config.masterKeys.argv[0]} …` : null,
    KEYTURN_CREDENTIALS: config.credentialsFile,
    KEYTURN_INITIAL_CREDENTIALS_FILE: config.initialCredentialsFile,
    KEYTURN_BOOTSTRAP_FILE: config.bootstrapFile,
    KEYTURN_TLS_CERT_FILE: config.tls?.certFile ?? null,
    KEYTURN_TLS_KEY_FILE: config.tls?.keyFile ?? null,
    KEYTURN_TLS_CLIENT_CA_FILE: config.tls?.clientCaFile ?? null,
    KEYTURN_MTLS: config.mtls.source,
    KEYTURN_MTLS_CA_FILE: config.mtls.caFile,
    KEYTURN_TRUSTED_PROXIES: config.trustedProxies.join(','),
    KEYTURN_ISSUER_NETWORKS: config.issuerNetworks.join(','),
    KEYTURN_OUTBOUND_NETWORKS: config.outboundNetworks.join(','),
    KEYTURN_DRAIN_SECONDS: config.drainSeconds,
    KEYTURN_JWKS_MAX_AGE: config.jwksMaxAgeSeconds,
    KEYTURN_TOKEN_LIFETIME: config.tokenLifetimeSeconds,
    KEYTURN_ASSERTION_AUDIENCE: config.assertionAudience,
    KEYTURN_ACTIVATION_GUARD: config.activationGuard,
    KEYTURN_MAX_WEB_KEYS: config.maxWebKeys,
    KEYTURN_MAX_CACHED_USERS: config.maxCachedUsers,
    KEYTURN_MAX_STALENESS: config.maxStalenessSeconds,
    KEYTURN_BETA_API: config.betaApi ? 'on' : 'off',
    KEYTURN_ZITADEL_API: config.zitadelApi ? 'on' : 'off',
    KEYTURN_CONSOLE: config.console ? 'on' : 'off',
    KEYTURN_OPENID_ISSUER: config.openId?.issuer ?? null,
    KEYTURN_OPENID_CLIENT_ID: config.openId?.clientId ?? null,
    KEYTURN_OPENID_ROLES: config.openId === null ? null : JSON.stringify(rolesByName(config.openId)),
    KEYTURN_OPENID_CLIENT_SECRET_FILE: config.openId?.clientSecretFile ?? null,
    KEYTURN_OPENID_SCOPES: config.openId?.scopes ?? null,
    KEYTURN_AUDIT_RETENTION: config.auditRetentionDays,
    KEYTURN_MAX_PAT_LIFETIME: config.maxPatLifetimeDays,
    KEYTURN_METRICS_LISTEN: config.metricsListen === null ? 'off' : formatAddress(config.metricsListen),
    OTEL_EXPORTER_OTLP_ENDPOINT: config.tracesTo === null ? null : placeOf(config.tracesTo),
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: config.auditEventsTo === null ? null : placeOf(config.auditEventsTo),
    KEYTURN_LOG_LEVEL: config.logLevel,
  }
}

/** What a server takes that is given none. Port 0 becomes another one at the start. */
function defaultBaseUrl({ tls, listen }: Config): string {
  return `${tls === null ? 'http' : 'https'}://localhost:${listen.port === 0 ? '<port>' : listen.port}`
}

/** The other parts of the URL may hold a secret of the collector. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/** As the setting has it. */
function rolesByName({ roles }: OpenIdConfig): Record<string, Record<string, readonly string[]>> {
  const byRole: Record<string, Record<string, readonly string[]>> = {}
  for (const { role, claim, values } of roles) byRole[role] = { ...byRole[role], [claim]: values }
  return byRole
}
