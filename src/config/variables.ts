/**
 * The variables of a server: the form, range and default of each.
 *
 * `settings.ts` has the same as users see it, `contradictions.ts` what they must not be together.
 */
import { z } from 'zod'
import { DEFAULT_DATA_DIR } from './environment.ts'
import {
  isPostgresUrl,
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

const seconds = (fallback: number, range: { min: number; max: number }) => wholeNumber(fallback, range)
const address = z.string().transform(toAddress)

/** The form of the variables. Unknown ones are mistakes. */
export const VARIABLES = z.strictObject({
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

/** The values of the variables. */
export type Variables = z.output<typeof VARIABLES>
