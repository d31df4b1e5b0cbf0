/**
 * Every setting of the server as users see it: name, flag, default and meaning.
 *
 * The README's table, the flags of `keyturn serve` and the deployment files are held to this list by tests.
 */

/** One setting, as users see it. */
export interface Setting {
  readonly variable: string
  /** The flag of `keyturn serve`, without the value. */
  readonly flag?: string
  readonly default: string
  readonly meaning: string
}

/** Every setting, in the order of the documentation. */
export const SETTINGS = [
  {
    variable: 'KEYTURN_LISTEN',
    flag: '--listen',
    default: '127.0.0.1:8080',
    meaning: 'Address to listen on, `host:port`. Port 0 picks a free one.',
  },
  {
    variable: 'KEYTURN_BASE_URL',
    flag: '--base-url',
    default: '`http://localhost:<port>`',
    meaning:
      'Address that clients use, and the issuer of the tokens, which is stored at the first start: with another one no server ' +
      'starts (`keyturn issuer change`), except that the embedded database takes another port of the default. Must be https unless it is a loopback address. No path.',
  },
  {
    variable: 'KEYTURN_DATABASE_URL',
    flag: '--database-url',
    default: 'none: embedded',
    meaning:
      'PostgreSQL to use, `postgres://…`. `DATABASE_URL` works too. Without one, an embedded PostgreSQL with its files in the data directory is started.',
  },
  {
    variable: 'KEYTURN_DATABASE_MAX_CONNECTIONS',
    default: '10',
    meaning:
      'Greatest number of connections to PostgreSQL per process, 4 to 100. One of them listens for changes, if any does.',
  },
  {
    variable: 'KEYTURN_PRIMARY_URL',
    default: 'none',
    meaning:
      'Where a server of the primary region is reached, for replicas whose `KEYTURN_DATABASE_URL` leads to a standby: callers whose changes they refuse get this address (`docs/regions.md`).',
  },
  {
    variable: 'KEYTURN_PRIMARY_DATABASE_URL',
    default: 'none',
    meaning:
      'PostgreSQL of the primary region, for replicas on a standby: where the use of assertions, DPoP proofs and secrets is recorded (`docs/regions.md`).',
  },
  {
    variable: 'KEYTURN_CHANGE_FEED',
    default: 'listen',
    meaning:
      'How a replica learns of the changes of others: `listen` (LISTEN and NOTIFY, and a comparison of versions every second) or `poll` (the comparison only: for transaction pools and for databases without NOTIFY).',
  },
  {
    variable: 'KEYTURN_WORKERS',
    flag: '--workers',
    default: '1',
    meaning: 'Processes that share the port, 1 to 64, or `auto` for one per core.',
  },
  {
    variable: 'KEYTURN_DATA_DIR',
    flag: '--data-dir',
    default: '`.keyturn`',
    meaning:
      'Folder of the embedded database, the generated master key and `admin.json`. With the embedded database, used by one server at a time.',
  },
  {
    variable: 'KEYTURN_MASTER_KEYS',
    default: 'generated in the data directory when embedded; required with PostgreSQL',
    meaning:
      'Keys that seal the private keys in the database: comma-separated `id:base64url(32 bytes)`. The first one seals, all open.',
  },
  {
    variable: 'KEYTURN_MASTER_KEYS_FILE',
    default: 'none',
    meaning: 'A file with the master keys, instead of the variable. For secrets that are mounted as files.',
  },
  {
    variable: 'KEYTURN_MASTER_KEYS_COMMAND',
    default: 'none',
    meaning:
      'A command that prints the master keys, instead of the variable, for a vault or a key management service: a program and its arguments between blanks, or as a JSON array. Run at the start without a shell; it has 30 seconds.',
  },
  {
    variable: 'KEYTURN_CREDENTIALS',
    flag: '--credentials',
    default: '`<data dir>/admin.json`',
    meaning: "Where the first administrator's credentials are written, once, readable by the owner only.",
  },
  {
    variable: 'KEYTURN_INITIAL_CREDENTIALS_FILE',
    default: 'none: generated',
    meaning:
      "A file with the first administrator's credentials, made with `keyturn initial-credentials`, such as a mounted secret. Read by the server that initialises the instance; then none are written.",
  },
  {
    variable: 'KEYTURN_BOOTSTRAP_FILE',
    default: 'none',
    meaning:
      'A file of `keyturn apply` (YAML or JSON), such as a mounted ConfigMap, which an empty instance begins with, instead of a first administrator with a secret. It must have an owner with a public key or a federated identity. Read by the server that initialises the instance.',
  },
  {
    variable: 'KEYTURN_TLS_CERT_FILE',
    default: 'none',
    meaning: 'Certificate chain (PEM) for TLS on the same port. Reloaded when the file changes.',
  },
  { variable: 'KEYTURN_TLS_KEY_FILE', default: 'none', meaning: 'Private key (PEM) of the certificate.' },
  {
    variable: 'KEYTURN_TLS_CLIENT_CA_FILE',
    default: 'none',
    meaning:
      'Certificates (PEM) of the authorities whose clients may connect: other clients are refused. Reloaded when the file changes; connections of an authority that was removed are closed.',
  },
  {
    variable: 'KEYTURN_MTLS',
    default: 'off',
    meaning:
      'Where certificates of clients are taken from, for tokens that are bound to them and to authenticate clients (RFC 8705): `off`; `tls`, the TLS connections of this server, which then asks each client for a certificate; or the header of a trusted proxy, `client-cert` (RFC 9440) or `x-forwarded-client-cert` (Envoy).',
  },
  {
    variable: 'KEYTURN_MTLS_CA_FILE',
    default: 'none',
    meaning:
      'Certificates (PEM) of the authorities that vouch for the names in certificates of clients (`tls_client_auth`). Reloaded when the file changes.',
  },
  {
    variable: 'KEYTURN_TRUSTED_PROXIES',
    default: 'none',
    meaning:
      'Addresses and networks of the proxies in front, comma-separated, such as `10.0.0.0/8,fd00::/8`. `X-Forwarded-For`, and the header that `KEYTURN_MTLS` names, are read from these proxies only.',
  },
  {
    variable: 'KEYTURN_ISSUER_NETWORKS',
    default: 'none',
    meaning:
      'Addresses and networks from which keys of trusted issuers may be fetched besides those that are globally reachable, comma-separated, such as `10.20.0.0/16`. Loopback, private, link-local and metadata addresses are refused unless they are listed.',
  },
  {
    variable: 'KEYTURN_OUTBOUND_NETWORKS',
    default: 'none',
    meaning:
      'Addresses and networks to which webhooks may be sent, and from which keys of trusted issuers may be fetched, besides those that are globally reachable, in the same form.',
  },
  {
    variable: 'KEYTURN_DRAIN_SECONDS',
    default: '5',
    meaning:
      'How long to serve on after SIGTERM while load balancers and clients go elsewhere, in seconds, 0 to 300. Longer than load balancers take to notice that a replica is not ready.',
  },
  {
    variable: 'KEYTURN_JWKS_MAX_AGE',
    default: '300',
    meaning: 'How long clients may reuse the JWKS, in seconds, 0 to 86400.',
  },
  { variable: 'KEYTURN_TOKEN_LIFETIME', default: '3600', meaning: 'Lifetime of access tokens in seconds, 1 to 86400.' },
  {
    variable: 'KEYTURN_ASSERTION_AUDIENCE',
    default: 'issuer',
    meaning:
      'Which `aud` an assertion of a client (`private_key_jwt`) must have: `issuer`, the base URL as a text, or `endpoint`, the address of the token endpoint as well, and either in a list of one.',
  },
  {
    variable: 'KEYTURN_ACTIVATION_GUARD',
    default: 'warn',
    meaning:
      'What to do about activating a key that has been published for less than the cache time of the JWKS: `warn`, `enforce` (refuse) or `off`.',
  },
  { variable: 'KEYTURN_MAX_WEB_KEYS', default: '50', meaning: 'Greatest number of web keys, 2 to 1000.' },
  {
    variable: 'KEYTURN_MAX_CACHED_USERS',
    default: '10000',
    meaning:
      'How many service users a process keeps in memory, 1000 to 500000, those that were used last. Each takes about 1.7 KiB. Requests of others read the database (`docs/scale.md`, which says what heap many need).',
  },
  {
    variable: 'KEYTURN_MAX_STALENESS',
    default: '60',
    meaning:
      'How long to go on from memory without the database, in seconds, 1 to 86400; 15 at least on a standby (`docs/regions.md`). For that time a replica that is cut off alone does not learn what was revoked or disabled.',
  },
  {
    variable: 'KEYTURN_BETA_API',
    default: 'on',
    meaning: 'Whether the deprecated `iam.webkey.v2beta.WebKeyService` is served: `on` or `off`.',
  },
  {
    variable: 'KEYTURN_ZITADEL_API',
    default: 'off',
    meaning:
      'Whether clients of ZITADEL are served: its two `WebKeyService`s, its scopes for audience and roles (`docs/zitadel.md`). `on` or `off`.',
  },
  {
    variable: 'KEYTURN_CONSOLE',
    default: 'on',
    meaning:
      'Whether there is a console at `/console/`, with its `iam.console.v2.ConsoleService` (`docs/console.md`): `on` or `off`.',
  },
  {
    variable: 'KEYTURN_OPENID_ISSUER',
    default: 'none',
    meaning: 'OpenID provider at which people sign in at the console (`docs/console.md`), with the two that follow.',
  },
  {
    variable: 'KEYTURN_OPENID_CLIENT_ID',
    default: 'none',
    meaning: "Keyturn's client there, with the redirect URI `<base URL>/console/callback`.",
  },
  {
    variable: 'KEYTURN_OPENID_ROLES',
    default: 'none',
    meaning:
      'Which claim gives which role, in JSON: `{"IAM_OWNER":{"groups":["platform"]}}`. People have every role that fits; those without one may not sign in.',
  },
  {
    variable: 'KEYTURN_OPENID_CLIENT_SECRET_FILE',
    default: 'none: a public client',
    meaning: 'A file with the secret of that client.',
  },
  {
    variable: 'KEYTURN_OPENID_SCOPES',
    default: 'openid profile email',
    meaning: 'Scopes to ask for, separated by spaces, such as another one for groups.',
  },
  {
    variable: 'KEYTURN_AUDIT_RETENTION',
    default: '365',
    meaning: 'How long events of the audit trail are kept, in days, 1 to 3650.',
  },
  {
    variable: 'KEYTURN_MAX_PAT_LIFETIME',
    default: '365',
    meaning:
      'How long a personal access token may live, in days, 1 to 3650. It holds for new ones; those that exist keep their date.',
  },
  {
    variable: 'KEYTURN_METRICS_LISTEN',
    default: '127.0.0.1:9464',
    meaning: 'Address for Prometheus metrics at `/metrics`, `host:port`, or `off`.',
  },
  {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: 'none: no traces',
    meaning:
      'Collector that traces are sent to, with OTLP over HTTP. `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, and the variables of OpenTelemetry for headers, sampling and the service name, work too.',
  },
  {
    variable: 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
    default: 'none: no audit events',
    meaning:
      'Collector that audit events are sent to as logs, with OTLP over HTTP. `OTEL_LOGS_EXPORTER=otlp` sends them to that of `OTEL_EXPORTER_OTLP_ENDPOINT`.',
  },
  {
    variable: 'KEYTURN_LOG_LEVEL',
    default: 'info',
    meaning: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  },
] as const satisfies readonly Setting[]
