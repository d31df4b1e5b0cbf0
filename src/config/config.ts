/**
 * The configuration of a server, and how its mistakes are reported.
 */
import type { ListenAddress, OpenIdRole } from './values.ts'

/** The generated master key, in the data directory. */
export const MASTER_KEY_FILE = 'master.key'

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
