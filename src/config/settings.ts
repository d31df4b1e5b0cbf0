/**
 * Every setting of the server: its form, range and default, its flag, and its meaning for users.
 *
 * The flags of `keyturn serve`, the README's table and `keyturn config` come from this list. What settings must not be together is in
 * `contradictions.ts`.
 */
import { z } from 'zod'
import { parseMasterKeys } from '../crypto/master-keys.ts'
import { DEFAULT_DATA_DIR } from './environment.ts'
import {
  oneOf,
  parseAddress,
  parseArguments,
  parsed,
  parseIssuer,
  parseNetworks,
  parseOpenIdRoles,
  parsePostgresUrl,
  parseWorkers,
  readPostgresUrl,
  toBaseUrl,
  wholeNumber,
  withoutPassword,
} from './values.ts'

/** What users read about a setting, in the metadata of its form. */
interface Documentation {
  /** The flag of `keyturn serve`, without the value. */
  readonly flag?: string
  /** Given if it is not that of the form, or to say more. */
  readonly default?: string
  readonly description: string
  /** Makes of a value what may be shown. Given if the value may have a secret. */
  readonly show?: (value: never) => string
}

const text = z.string().min(1).optional()
const baseUrl = parsed(toBaseUrl).optional()
const postgresUrl = parsed(parsePostgresUrl).optional()
const networks = parsed(parseNetworks).prefault('')
const collector = z.url('must be a URL, http://…').optional()
const onOff = (fallback: 'on' | 'off') => oneOf(['on', 'off'], fallback)

/** The variables. Unknown ones are mistakes. */
export const VARIABLES = z.strictObject({
  KEYTURN_LISTEN: parsed(parseAddress)
    .prefault('127.0.0.1:8080')
    .meta({ flag: '--listen', description: 'Address to listen on, `host:port`. Port 0 picks a free one.' }),
  KEYTURN_BASE_URL: baseUrl.meta({
    flag: '--base-url',
    default: '`http://localhost:<port>`',
    description:
      'Address that clients use, and the issuer of the tokens, which is stored at the first start: with another one no server starts (`keyturn issuer change`), except that the embedded database takes another port of the default. Must be https unless it is a loopback address. No path.',
  }),
  KEYTURN_DATABASE_URL: postgresUrl.meta({
    show: withoutPassword,
    flag: '--database-url',
    default: 'none: embedded',
    description:
      'PostgreSQL to use, `postgres://…`. `DATABASE_URL` works too. Without one, an embedded PostgreSQL with its files in the data directory is started.',
  }),
  KEYTURN_DATABASE_URL_FILE: parsed(readPostgresUrl).optional().meta({
    show: withoutPassword,
    description: 'A file with that URL, instead of the variable. For secrets that are mounted as files.',
  }),
  KEYTURN_DATABASE_MAX_CONNECTIONS: wholeNumber(10, { min: 4, max: 100 }).describe(
    'Greatest number of connections to PostgreSQL per process, 4 to 100. One of them listens for changes, if any does.',
  ),
  KEYTURN_PRIMARY_URL: baseUrl.describe(
    'Where a server of the primary region is reached, for replicas whose `KEYTURN_DATABASE_URL` leads to a standby: callers whose changes they refuse get this address (`docs/regions.md`).',
  ),
  KEYTURN_PRIMARY_DATABASE_URL: postgresUrl.meta({
    show: withoutPassword,
    description:
      'PostgreSQL of the primary region, for replicas on a standby: where the use of assertions, DPoP proofs and secrets is recorded (`docs/regions.md`).',
  }),
  KEYTURN_CHANGE_FEED: oneOf(['listen', 'poll'], 'listen').describe(
    'How a replica learns of the changes of others: `listen` (LISTEN and NOTIFY, and a comparison of versions every second) or `poll` (the comparison only: for transaction pools and for databases without NOTIFY).',
  ),
  KEYTURN_WORKERS: parsed(parseWorkers)
    .prefault('1')
    .meta({ flag: '--workers', description: 'Processes that share the port, 1 to 64, or `auto` for one per core.' }),
  KEYTURN_DATA_DIR: z.string().min(1).default(DEFAULT_DATA_DIR).meta({
    flag: '--data-dir',
    description:
      'Folder of the embedded database, the generated master key and `admin.json`. With the embedded database, used by one server at a time.',
  }),
  KEYTURN_MASTER_KEYS: parsed(parseMasterKeys)
    .optional()
    .meta({
      show: () => '(set)',
      default: 'generated in the data directory when embedded; required with PostgreSQL',
      description:
        'Keys that seal the private keys in the database: comma-separated `id:base64url(32 bytes)`. The first one seals, all open.',
    }),
  KEYTURN_MASTER_KEYS_FILE: text.describe(
    'A file with the master keys, instead of the variable. For secrets that are mounted as files.',
  ),
  KEYTURN_MASTER_KEYS_COMMAND: parsed(parseArguments)
    .optional()
    .meta({
      // Its arguments may have a secret.
      show: ([program]: readonly string[]) => `${program} …`,
      description:
        'A command that prints the master keys, instead of the variable, for a vault or a key management service: a program and its arguments between blanks, or as a JSON array. Run at the start without a shell; it has 30 seconds.',
    }),
  KEYTURN_CREDENTIALS: text.meta({
    flag: '--credentials',
    default: '`<data dir>/admin.json`',
    description: "Where the first administrator's credentials are written, once, readable by the owner only.",
  }),
  KEYTURN_INITIAL_CREDENTIALS_FILE: text.meta({
    default: 'none: generated',
    description:
      "A file with the first administrator's credentials, made with `keyturn initial-credentials`, such as a mounted secret. Read by the server that initialises the instance; then none are written.",
  }),
  KEYTURN_BOOTSTRAP_FILE: text.describe(
    'A file of `keyturn apply` (YAML or JSON), such as a mounted ConfigMap, which an empty instance begins with, instead of a first administrator with a secret. It must have an owner with a public key or a federated identity. Read by the server that initialises the instance.',
  ),
  KEYTURN_TLS_CERT_FILE: text.describe(
    'Certificate chain (PEM) for TLS on the same port. Reloaded when the file changes.',
  ),
  KEYTURN_TLS_KEY_FILE: text.describe('Private key (PEM) of the certificate.'),
  KEYTURN_TLS_CLIENT_CA_FILE: text.describe(
    'Certificates (PEM) of the authorities whose clients may connect: other clients are refused. Reloaded when the file changes; when an authority is removed, all connections are closed.',
  ),
  KEYTURN_MTLS: oneOf(['off', 'tls', 'client-cert', 'x-forwarded-client-cert'], 'off').describe(
    'Where certificates of clients are taken from, for tokens that are bound to them and to authenticate clients (RFC 8705): `off`; `tls`, the TLS connections of this server, which then asks each client for a certificate; or the header of a trusted proxy, `client-cert` (RFC 9440) or `x-forwarded-client-cert` (Envoy).',
  ),
  KEYTURN_MTLS_CA_FILE: text.describe(
    'Certificates (PEM) of the authorities that vouch for the names in certificates of clients (`tls_client_auth`). Reloaded when the file changes.',
  ),
  KEYTURN_TRUSTED_PROXIES: networks.describe(
    'Addresses and networks of the proxies in front, comma-separated, such as `10.0.0.0/8,fd00::/8`. `X-Forwarded-For`, and the header that `KEYTURN_MTLS` names, are read from these proxies only.',
  ),
  KEYTURN_ISSUER_NETWORKS: networks.describe(
    'Addresses and networks from which keys of trusted issuers may be fetched besides those that are globally reachable, comma-separated, such as `10.20.0.0/16`. Loopback, private, link-local and metadata addresses are refused unless they are listed.',
  ),
  KEYTURN_OUTBOUND_NETWORKS: networks.describe(
    'Addresses and networks to which webhooks may be sent, and from which keys of trusted issuers may be fetched, besides those that are globally reachable, in the same form.',
  ),
  KEYTURN_DRAIN_SECONDS: wholeNumber(5, { min: 0, max: 300 }).describe(
    'How long to serve on after SIGTERM while load balancers and clients go elsewhere, in seconds, 0 to 300. Longer than load balancers take to notice that a replica is not ready.',
  ),
  KEYTURN_JWKS_MAX_AGE: wholeNumber(300, { min: 0, max: 86_400 }).describe(
    'How long clients may reuse the JWKS, in seconds, 0 to 86400.',
  ),
  KEYTURN_TOKEN_LIFETIME: wholeNumber(3600, { min: 1, max: 86_400 }).describe(
    'Lifetime of access tokens in seconds, 1 to 86400.',
  ),
  KEYTURN_ASSERTION_AUDIENCE: oneOf(['issuer', 'endpoint'], 'issuer').describe(
    'Which `aud` an assertion of a client (`private_key_jwt`) must have: `issuer`, the base URL as a text, or `endpoint`, the address of the token endpoint as well, and either in a list of one.',
  ),
  KEYTURN_ACTIVATION_GUARD: oneOf(['warn', 'enforce', 'off'], 'warn').describe(
    'What to do about activating a key that has been published for less than the cache time of the JWKS: `warn`, `enforce` (refuse) or `off`.',
  ),
  KEYTURN_MAX_WEB_KEYS: wholeNumber(50, { min: 2, max: 1000 }).describe('Greatest number of web keys, 2 to 1000.'),
  KEYTURN_MAX_CACHED_USERS: wholeNumber(10_000, { min: 1000, max: 500_000 }).describe(
    'How many service users a process keeps in memory, 1000 to 500000, those that were used last. Each takes about 1.7 KiB. Requests of others read the database (`docs/scale.md`, which says what heap many need).',
  ),
  KEYTURN_MAX_STALENESS: wholeNumber(60, { min: 1, max: 86_400 }).describe(
    'How long to go on from memory without the database, in seconds, 1 to 86400; 15 at least on a standby (`docs/regions.md`). For that time a replica that is cut off alone does not learn what was revoked or disabled.',
  ),
  KEYTURN_BETA_API: onOff('on').describe(
    'Whether the deprecated `iam.webkey.v2beta.WebKeyService` is served: `on` or `off`.',
  ),
  KEYTURN_ZITADEL_API: onOff('off').describe(
    'Whether clients of ZITADEL are served: its two `WebKeyService`s, its scopes for audience and roles (`docs/zitadel.md`). `on` or `off`.',
  ),
  KEYTURN_CONSOLE: onOff('on').describe(
    'Whether there is a console at `/console/`, with its `iam.console.v2.ConsoleService` (`docs/console.md`): `on` or `off`.',
  ),
  KEYTURN_OPENID_ISSUER: parsed(parseIssuer)
    .optional()
    .describe('OpenID provider at which people sign in at the console (`docs/console.md`), with the two that follow.'),
  KEYTURN_OPENID_CLIENT_ID: text.describe(
    "Keyturn's client there, with the redirect URI `<base URL>/console/callback`.",
  ),
  KEYTURN_OPENID_ROLES: parsed(parseOpenIdRoles)
    .optional()
    .describe(
      'Which claim gives which role, in JSON: `{"IAM_OWNER":{"groups":["platform"]}}`. People have every role that fits; those without one may not sign in.',
    ),
  KEYTURN_OPENID_CLIENT_SECRET_FILE: text.meta({
    default: 'none: a public client',
    description: 'A file with the secret of that client.',
  }),
  KEYTURN_OPENID_SCOPES: z
    .string()
    .refine((text) => text.split(' ').includes('openid'), 'must have the scope openid')
    .default('openid profile email')
    .describe('Scopes to ask for, separated by spaces, such as another one for groups.'),
  KEYTURN_AUDIT_RETENTION: wholeNumber(365, { min: 1, max: 3650 }).describe(
    'How long events of the audit trail are kept, in days, 1 to 3650.',
  ),
  KEYTURN_MAX_PAT_LIFETIME: wholeNumber(365, { min: 1, max: 3650 }).describe(
    'How long a personal access token may live, in days, 1 to 3650. It holds for new ones; those that exist keep their date.',
  ),
  KEYTURN_METRICS_LISTEN: parsed((text) => (text === 'off' ? null : parseAddress(text)))
    .prefault('127.0.0.1:9464')
    .describe('Address for Prometheus metrics at `/metrics`, `host:port`, or `off`.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.meta({
    show: placeOf,
    default: 'none: no traces',
    description:
      'Collector that traces are sent to, with OTLP over HTTP. `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, and the variables of OpenTelemetry for headers, sampling and the service name, work too.',
  }),
  KEYTURN_LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info').describe(
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  ),
})
export type Variables = z.output<typeof VARIABLES>

export interface Setting extends Documentation {
  readonly variable: string
  readonly default: string
}

/** Every setting, in the order of the documentation. */
export const SETTINGS: readonly Setting[] = Object.entries(VARIABLES.shape).map(([variable, form]) => ({
  default: String('defaultValue' in form.def ? form.def.defaultValue : '') || 'none',
  ...(form.meta() as unknown as Documentation),
  variable,
}))

/** The other parts of the URL may have a secret of the collector. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
