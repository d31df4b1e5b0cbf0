/**
 * The variables and flags, not checked yet. Commands that need one setting only start faster with this file than with `config.ts`.
 */
import { join, resolve } from 'node:path'
import { isClientVariable } from './client-settings.ts'

export const DEFAULT_DATA_DIR = '.keyturn'

/** The environment of this process. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env
}

/** The path of the credentials file, for commands that need no other setting. */
export function credentialsFileFrom(
  flags: { readonly credentials?: string | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const { KEYTURN_CREDENTIALS: file, KEYTURN_DATA_DIR: dataDir = DEFAULT_DATA_DIR } = settingsIn(environment, {
    KEYTURN_CREDENTIALS: flags.credentials,
  })
  return resolve(file ?? join(dataDir, 'admin.json'))
}

/** The settings that are given, by variable. Flags override variables. */
export function settingsIn(
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const named = Object.entries({ ...environment, ...defined(flags) }).filter(
    ([name]) => name.startsWith('KEYTURN_') && !isClientVariable(name),
  )
  const { DATABASE_URL: database } = environment
  // An empty variable counts as not set, because shells and compose files cannot always leave one out.
  const given = defined(Object.fromEntries(named))
  if (database && !given.KEYTURN_DATABASE_URL && !given.KEYTURN_DATABASE_URL_FILE) given.KEYTURN_DATABASE_URL = database
  const collector = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT
  if (collector) given.OTEL_EXPORTER_OTLP_ENDPOINT = collector
  return given
}

function defined(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  )
}
