/**
 * The variables and flags, not checked yet, and the settings of commands that call a server. Commands that need one setting only start faster with
 * this file than with `settings.ts`, where those of the server are.
 */
import { isAbsolute, join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

export const DEFAULT_DATA_DIR = '.keyturn'

/** Every setting of commands that servers do not have, which ignore them. `docs/command-line.md` says what they mean. */
export const CLIENT_VARIABLES = [
  'KEYTURN_TOKEN',
  'KEYTURN_CONTEXT',
  'KEYTURN_CA_FILE',
  'KEYTURN_CLIENT_CERT_FILE',
  'KEYTURN_CLIENT_KEY_FILE',
] as const

export function processEnvironment(): Environment {
  return process.env
}

/** The value of a variable of commands. An empty one counts as not set, as for a server. */
export function clientVariable(
  environment: Environment,
  name: (typeof CLIENT_VARIABLES)[number] | 'KEYTURN_BASE_URL',
): string | undefined {
  return environment[name] || undefined
}

/** Whether the environment names a credentials file, or the folder of one. */
export function namesCredentials({ KEYTURN_CREDENTIALS: file, KEYTURN_DATA_DIR: folder }: Environment): boolean {
  return Boolean(file || folder)
}

/** The path of the credentials file, for commands that need no other setting. */
export function credentialsFileFrom(
  flags: { readonly credentials?: string | undefined },
  environment: Environment,
): string {
  const { KEYTURN_CREDENTIALS: file, KEYTURN_DATA_DIR: dataDir = DEFAULT_DATA_DIR } = settingsIn(environment, {
    KEYTURN_CREDENTIALS: flags.credentials,
  })
  return resolve(file ?? join(dataDir, 'admin.json'))
}

/**
 * The user's configuration folder for this program, as the XDG Base Directory Specification has it; null without a home folder.
 * A relative `XDG_CONFIG_HOME` is ignored, as that specification wants.
 */
export function userConfigFolder({ XDG_CONFIG_HOME: configured, HOME: home }: Environment): string | null {
  if (configured !== undefined && isAbsolute(configured)) return join(configured, 'keyturn')
  return home ? join(resolve(home), '.config', 'keyturn') : null
}

/** The settings of a server that are given, by variable. Flags override variables. */
export function settingsIn(environment: Environment, flags: Environment): Record<string, string> {
  const isOfClient = (name: string) => CLIENT_VARIABLES.some((variable) => variable === name)
  const given = Object.fromEntries(
    Object.entries({ ...environment, ...defined(flags) }).filter(
      ([name]) => name.startsWith('KEYTURN_') && !isOfClient(name),
    ),
  )
  const settings = defined(given)
  const { DATABASE_URL: database } = environment
  if (database && !settings.KEYTURN_DATABASE_URL && !settings.KEYTURN_DATABASE_URL_FILE)
    settings.KEYTURN_DATABASE_URL = database
  const collector = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT
  if (collector) settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector
  return settings
}

/** An empty variable counts as not set, because shells and compose files cannot always leave one out. */
function defined(values: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1])))
}
