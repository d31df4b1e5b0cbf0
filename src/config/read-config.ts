/**
 * Reads the configuration of the server from variables and flags.
 *
 * Only this folder reads the environment. All mistakes are reported at once, and the server does not start with one.
 */
import { join, resolve } from 'node:path'
import type { z } from 'zod'
import { type Config, ConfigError, type OpenIdConfig } from './config.ts'
import { contradictions } from './contradictions.ts'
import { settingsIn } from './environment.ts'
import { VARIABLES, type Variables } from './variables.ts'

/**
 * Reads the settings from the environment. Flags override variables.
 *
 * @param flags Values by variable name, such as `{ KEYTURN_LISTEN: '127.0.0.1:0' }`.
 * @throws {ConfigError} that names every mistake, also unknown variables that start with `KEYTURN_`.
 */
export function readConfig(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): Config {
  const given = settingsIn(environment, flags)
  const parsed = VARIABLES.safeParse(given)
  const problems = parsed.success ? [] : parsed.error.issues.flatMap(describe)
  problems.push(...contradictions(given))
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems)
  return toConfig(parsed.data)
}

function describe(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${key}: there is no such variable`)
  }
  return [`${issue.path.join('.')}: ${issue.message}`]
}

function toConfig(settings: Variables): Config {
  const dataDir = resolve(settings.KEYTURN_DATA_DIR)
  const {
    KEYTURN_TLS_CERT_FILE: certFile,
    KEYTURN_TLS_KEY_FILE: keyFile,
    KEYTURN_TLS_CLIENT_CA_FILE: clientCaFile = null,
  } = settings
  return {
    listen: settings.KEYTURN_LISTEN,
    baseUrl: settings.KEYTURN_BASE_URL ?? null,
    database:
      settings.KEYTURN_DATABASE_URL === undefined
        ? { kind: 'embedded' }
        : { kind: 'postgres', url: settings.KEYTURN_DATABASE_URL },
    databaseMaxConnections: settings.KEYTURN_DATABASE_MAX_CONNECTIONS,
    changeFeed: settings.KEYTURN_CHANGE_FEED,
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
    tls: certFile === undefined || keyFile === undefined ? null : { certFile, keyFile, clientCaFile },
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
    openId: openIdFrom(settings),
    auditRetentionDays: settings.KEYTURN_AUDIT_RETENTION,
    maxPatLifetimeDays: settings.KEYTURN_MAX_PAT_LIFETIME,
    metricsListen: settings.KEYTURN_METRICS_LISTEN,
    tracesTo: settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
    auditEventsTo: settings.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT ?? null,
    logLevel: settings.KEYTURN_LOG_LEVEL,
  }
}

function openIdFrom(settings: Variables): OpenIdConfig | null {
  const { KEYTURN_OPENID_ISSUER: issuer, KEYTURN_OPENID_CLIENT_ID: clientId, KEYTURN_OPENID_ROLES: roles } = settings
  if (issuer === undefined || clientId === undefined || roles === undefined) return null
  const clientSecretFile = settings.KEYTURN_OPENID_CLIENT_SECRET_FILE ?? null
  return { issuer, clientId, clientSecretFile, scopes: settings.KEYTURN_OPENID_SCOPES, roles }
}

function masterKeysFrom({
  KEYTURN_MASTER_KEYS: text,
  KEYTURN_MASTER_KEYS_FILE: path,
  KEYTURN_MASTER_KEYS_COMMAND: argv,
}: Variables): Config['masterKeys'] {
  if (text !== undefined) return { kind: 'text', text }
  if (path !== undefined) return { kind: 'file', path }
  if (argv !== undefined) return { kind: 'command', argv }
  return { kind: 'generated' }
}
