/**
 * The configuration of the server, read from variables and flags and validated.
 *
 * Only this folder reads the environment. All mistakes are reported at once, and the server does not start with one.
 */
import { join, relative, resolve } from 'node:path'
import { z } from 'zod'
import { parseMasterKeys } from '../crypto/master-keys.ts'
import { DEFAULT_DATA_DIR, settingsIn } from './environment.ts'
import {
  isPostgresUrl,
  type ListenAddress,
  type OpenIdRole,
  oneOf,
  toAddress,
  toAddressOrOff,
  toArguments,
  toBaseUrl,
  toIssuer,
  toNetworks,
  toOpenIdRoles,
  toWorkers,
  wholeNumber,
} from './values.ts'

/** Names in the data directory: the folders of the embedded database, which `embedded-postgres/` owns, and others. */
const DATABASE_FOLDERS = ['postgres', 'postgres.new', 'database', 'programs']
export const MASTER_KEY_FILE = 'master.key'
const LOCK_FILE = 'lock'

/** The variables that say where the master keys come from. */
const MASTER_KEY_SOURCES = ['KEYTURN_MASTER_KEYS', 'KEYTURN_MASTER_KEYS_FILE', 'KEYTURN_MASTER_KEYS_COMMAND'] as const

/** The settings, checked. */
export interface Config {
  readonly listen: ListenAddress
  /** Null: `http://localhost:<port>`, or https with TLS. */
  readonly baseUrl: string | null
  readonly database: { readonly kind: 'postgres'; readonly url: string } | { readonly kind: 'embedded' }
  /** Connections to PostgreSQL of one process. Default 10, range 4 to 100. */
  readonly databaseMaxConnections: number
  /** Whether changes are announced and listened for, or found by comparing versions only. */
  readonly changeFeed: 'listen' | 'poll'
  /** What a replica whose database is a standby needs of its primary. */
  readonly primary: {
    /** Where changes are made, for those who are refused. Null: they are not told. */
    readonly url: string | null
    /** Where uses of assertions and secrets are recorded. Null: nowhere. */
    readonly databaseUrl: string | null
  }
  /** Processes that share the port. */
  readonly workers: number
  readonly dataDir: string
  readonly masterKeys:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'file'; readonly path: string }
    /** A program and its arguments. */
    | { readonly kind: 'command'; readonly argv: readonly string[] }
    | { readonly kind: 'generated' }
  readonly credentialsFile: string
  /** Where the operator has put credentials for the first administrator. Null: they are generated. */
  readonly initialCredentialsFile: string | null
  /** The configuration that an empty instance begins with. */
  readonly bootstrapFile: string | null
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile: string | null } | null
  readonly mtls: {
    /** Where certificates of clients are taken from (RFC 8705). Default `off`: from nowhere. */
    readonly source: 'off' | 'tls' | 'client-cert' | 'x-forwarded-client-cert'
    /** The authorities that vouch for names in certificates. Null: none does. */
    readonly caFile: string | null
  }
  /** Addresses and networks (CIDR) whose `X-Forwarded-For`, and header with a certificate, is believed. */
  readonly trustedProxies: readonly string[]
  /** Further ones, from which only keys of issuers may be fetched. */
  readonly issuerNetworks: readonly string[]
  /** Addresses and networks (CIDR) to which Keyturn may connect when others name the address, besides those that are globally reachable. */
  readonly outboundNetworks: readonly string[]
  /** How long to serve on after SIGTERM, in seconds. Default 5, range 0 to 300. */
  readonly drainSeconds: number
  /** How long clients may reuse the key set, in seconds. Default 300 (Spec §8), range 0 to 86 400. */
  readonly jwksMaxAgeSeconds: number
  /** Lifetime of access tokens, in seconds. Default 3600, range 1 to 86 400. */
  readonly tokenLifetimeSeconds: number
  /** Which audience a client assertion must have: the issuer (default), or the address of the token endpoint as well. */
  readonly assertionAudience: 'issuer' | 'endpoint'
  readonly activationGuard: 'warn' | 'enforce' | 'off'
  readonly maxWebKeys: number
  /** How many service users a process keeps in memory. Default 10 000, range 1 000 to 500 000. */
  readonly maxCachedUsers: number
  readonly maxStalenessSeconds: number
  /** Whether the deprecated beta service is served. */
  readonly betaApi: boolean
  /** Whether clients of ZITADEL are served. */
  readonly zitadelApi: boolean
  /** Whether there is a console. */
  readonly console: boolean
  /** The OpenID provider at which people sign in at the console; null: there is none. */
  readonly openId: OpenIdConfig | null
  /** How long audit events are kept, in days. Default 365, range 1 to 3650. */
  readonly auditRetentionDays: number
  /** How long a personal access token may live, in days. Default 365, range 1 to 3650. */
  readonly maxPatLifetimeDays: number
  /** Null: no metrics. */
  readonly metricsListen: ListenAddress | null
  /** The collector of traces; null: no traces. The exporter reads its other settings from the environment itself. */
  readonly tracesTo: string | null
  /** The collector of audit events; null: they are not sent. As for traces. */
  readonly auditEventsTo: string | null
  readonly logLevel: string
}

/** An OpenID provider, and Keyturn's registration there. */
export interface OpenIdConfig {
  readonly issuer: string
  readonly clientId: string
  /** Null: a public client. */
  readonly clientSecretFile: string | null
  /** Separated by spaces. */
  readonly scopes: string
  readonly roles: readonly OpenIdRole[]
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

const seconds = (fallback: number, range: { min: number; max: number }) => wholeNumber(fallback, range)
const address = z.string().transform(toAddress)

const schema = z.strictObject({
  KEYTURN_LISTEN: address.prefault('127.0.0.1:8080'),
  KEYTURN_BASE_URL: z.string().transform(toBaseUrl).optional(),
  KEYTURN_DATABASE_URL: z.string().refine(isPostgresUrl, 'must be a URL that starts with postgres://').optional(),
  KEYTURN_DATABASE_MAX_CONNECTIONS: wholeNumber(10, { min: 4, max: 100 }),
  KEYTURN_PRIMARY_URL: z.string().transform(toBaseUrl).optional(),
  KEYTURN_PRIMARY_DATABASE_URL: z
    .string()
    .refine(isPostgresUrl, 'must be a URL that starts with postgres://')
    .optional(),
  KEYTURN_CHANGE_FEED: oneOf(['listen', 'poll']).default('listen'),
  KEYTURN_WORKERS: z.string().transform(toWorkers).prefault('1'),
  KEYTURN_DATA_DIR: z.string().min(1).default(DEFAULT_DATA_DIR),
  KEYTURN_MASTER_KEYS: z.string().min(1).optional(),
  KEYTURN_MASTER_KEYS_FILE: z.string().min(1).optional(),
  KEYTURN_MASTER_KEYS_COMMAND: z.string().transform(toArguments).optional(),
  KEYTURN_CREDENTIALS: z.string().min(1).optional(),
  KEYTURN_INITIAL_CREDENTIALS_FILE: z.string().min(1).optional(),
  KEYTURN_BOOTSTRAP_FILE: z.string().min(1).optional(),
  KEYTURN_TLS_CERT_FILE: z.string().min(1).optional(),
  KEYTURN_TLS_KEY_FILE: z.string().min(1).optional(),
  KEYTURN_TLS_CLIENT_CA_FILE: z.string().min(1).optional(),
  KEYTURN_MTLS: oneOf(['off', 'tls', 'client-cert', 'x-forwarded-client-cert']).default('off'),
  KEYTURN_MTLS_CA_FILE: z.string().min(1).optional(),
  KEYTURN_TRUSTED_PROXIES: z.string().transform(toNetworks).prefault(''),
  KEYTURN_ISSUER_NETWORKS: z.string().transform(toNetworks).prefault(''),
  KEYTURN_OUTBOUND_NETWORKS: z.string().transform(toNetworks).prefault(''),
  KEYTURN_DRAIN_SECONDS: seconds(5, { min: 0, max: 300 }),
  KEYTURN_JWKS_MAX_AGE: seconds(300, { min: 0, max: 86_400 }),
  KEYTURN_TOKEN_LIFETIME: seconds(3600, { min: 1, max: 86_400 }),
  KEYTURN_ASSERTION_AUDIENCE: oneOf(['issuer', 'endpoint']).default('issuer'),
  KEYTURN_ACTIVATION_GUARD: oneOf(['warn', 'enforce', 'off']).default('warn'),
  KEYTURN_MAX_WEB_KEYS: wholeNumber(50, { min: 2, max: 1000 }),
  KEYTURN_MAX_CACHED_USERS: wholeNumber(10_000, { min: 1000, max: 500_000 }),
  KEYTURN_MAX_STALENESS: seconds(60, { min: 1, max: 86_400 }),
  KEYTURN_BETA_API: oneOf(['on', 'off']).default('on'),
  KEYTURN_ZITADEL_API: oneOf(['on', 'off']).default('off'),
  KEYTURN_CONSOLE: oneOf(['on', 'off']).default('on'),
  KEYTURN_OPENID_ISSUER: z.string().transform(toIssuer).optional(),
  KEYTURN_OPENID_CLIENT_ID: z.string().min(1).optional(),
  KEYTURN_OPENID_CLIENT_SECRET_FILE: z.string().min(1).optional(),
  KEYTURN_OPENID_SCOPES: z
    .string()
    .refine((text) => text.split(' ').includes('openid'), 'must have the scope openid')
    .default('openid profile email'),
  KEYTURN_OPENID_ROLES: z.string().transform(toOpenIdRoles).optional(),
  KEYTURN_AUDIT_RETENTION: wholeNumber(365, { min: 1, max: 3650 }),
  KEYTURN_MAX_PAT_LIFETIME: wholeNumber(365, { min: 1, max: 3650 }),
  KEYTURN_METRICS_LISTEN: z.string().transform(toAddressOrOff).prefault('127.0.0.1:9464'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url('must be a URL, http://…').optional(),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: z.url('must be a URL, http://…').optional(),
  KEYTURN_LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
})

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
  const parsed = schema.safeParse(given)
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

function contradictions(given: Readonly<Record<string, string>>): string[] {
  const problems: string[] = []
  const has = (variable: string) => given[variable] !== undefined
  if (has('KEYTURN_TLS_CERT_FILE') !== has('KEYTURN_TLS_KEY_FILE')) {
    problems.push('KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE: both are needed, or none')
  }
  if (has('KEYTURN_TLS_CLIENT_CA_FILE') && !has('KEYTURN_TLS_CERT_FILE')) {
    problems.push('KEYTURN_TLS_CLIENT_CA_FILE: needs KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE')
  }
  const openId = ['KEYTURN_OPENID_ISSUER', 'KEYTURN_OPENID_CLIENT_ID', 'KEYTURN_OPENID_ROLES']
  const others = ['KEYTURN_OPENID_CLIENT_SECRET_FILE', 'KEYTURN_OPENID_SCOPES']
  if ([...openId, ...others].some(has) && !openId.every(has)) {
    problems.push(`${openId.join(', ')}: all of them are needed to sign people in, or none`)
  }
  if (given.KEYTURN_MTLS === 'tls' && !has('KEYTURN_TLS_CERT_FILE')) {
    problems.push('KEYTURN_MTLS: tls needs KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE')
  }
  if ((given.KEYTURN_MTLS ?? '').includes('client-cert') && !has('KEYTURN_TRUSTED_PROXIES')) {
    problems.push('KEYTURN_MTLS: a header needs KEYTURN_TRUSTED_PROXIES, from which alone it is believed')
  }
  if (has('KEYTURN_MTLS_CA_FILE') && (given.KEYTURN_MTLS ?? 'off') === 'off') {
    problems.push('KEYTURN_MTLS_CA_FILE: means nothing without KEYTURN_MTLS')
  }
  if (has('KEYTURN_BOOTSTRAP_FILE') && has('KEYTURN_INITIAL_CREDENTIALS_FILE')) {
    problems.push('KEYTURN_BOOTSTRAP_FILE and KEYTURN_INITIAL_CREDENTIALS_FILE: set one of them only')
  }
  const sources = MASTER_KEY_SOURCES.filter(has)
  if (sources.length > 1) problems.push(`${sources.join(' and ')}: set one of them only`)
  for (const variable of ['KEYTURN_PRIMARY_URL', 'KEYTURN_PRIMARY_DATABASE_URL']) {
    if (has(variable) && !has('KEYTURN_DATABASE_URL')) {
      problems.push(`${variable}: means nothing without KEYTURN_DATABASE_URL, which may be that of a standby`)
    }
  }
  if (given.KEYTURN_CREDENTIALS !== undefined && isOwnFile(given.KEYTURN_CREDENTIALS, given.KEYTURN_DATA_DIR)) {
    problems.push('KEYTURN_CREDENTIALS: must not be a file that the data directory needs for something else')
  }
  if (given.KEYTURN_MASTER_KEYS !== undefined) problems.push(...masterKeyProblems(given.KEYTURN_MASTER_KEYS))
  if (has('KEYTURN_DATABASE_URL') && sources.length === 0) {
    problems.push(
      'KEYTURN_MASTER_KEYS: required with a PostgreSQL database, and the same for every replica; make one with "keyturn master-key generate"',
    )
  }
  return problems
}

function isOwnFile(credentials: string, dataDir: string = DEFAULT_DATA_DIR): boolean {
  const inside = relative(resolve(dataDir), resolve(credentials))
  return ['', MASTER_KEY_FILE, LOCK_FILE].includes(inside) || DATABASE_FOLDERS.includes(inside.split('/')[0] ?? '')
}

function masterKeyProblems(text: string): string[] {
  try {
    parseMasterKeys(text)
    return []
  } catch (error) {
    return [`KEYTURN_MASTER_KEYS: ${error instanceof Error ? error.message : String(error)}`]
  }
}

function toConfig(settings: z.output<typeof schema>): Config {
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

function openIdFrom(settings: z.output<typeof schema>): OpenIdConfig | null {
  const { KEYTURN_OPENID_ISSUER: issuer, KEYTURN_OPENID_CLIENT_ID: clientId, KEYTURN_OPENID_ROLES: roles } = settings
  if (issuer === undefined || clientId === undefined || roles === undefined) return null
  const clientSecretFile = settings.KEYTURN_OPENID_CLIENT_SECRET_FILE ?? null
  return { issuer, clientId, clientSecretFile, scopes: settings.KEYTURN_OPENID_SCOPES, roles }
}

function masterKeysFrom({
  KEYTURN_MASTER_KEYS: text,
  KEYTURN_MASTER_KEYS_FILE: path,
  KEYTURN_MASTER_KEYS_COMMAND: argv,
}: z.output<typeof schema>): Config['masterKeys'] {
  if (text !== undefined) return { kind: 'text', text }
  if (path !== undefined) return { kind: 'file', path }
  if (argv !== undefined) return { kind: 'command', argv }
  return { kind: 'generated' }
}
