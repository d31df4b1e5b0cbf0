/**
 * The settings of commands that call a server: their variables, and the folder of the contexts.
 *
 * The settings of the server are in `settings.ts`. A server ignores the variables below, and a command needs none.
 */
import { isAbsolute, join, resolve } from 'node:path'

/** The environment of a command. */
type Environment = Readonly<Record<string, string | undefined>>

/** One setting, as users see it. */
interface ClientSetting {
  readonly variable: string
  /** The option that overrides the variable. */
  readonly flag?: string
  readonly meaning: string
}

/** Every setting that servers do not have. `docs/command-line.md` lists them. */
export const CLIENT_SETTINGS = [
  {
    variable: 'KEYTURN_TOKEN',
    meaning:
      'A personal access token. Commands call the server at `KEYTURN_BASE_URL` with it, instead of with client credentials.',
  },
  { variable: 'KEYTURN_CONTEXT', flag: '--context', meaning: 'The context to use.' },
  {
    variable: 'KEYTURN_CA_FILE',
    flag: '--ca',
    meaning: 'Certificates (PEM) of the authorities to trust, instead of the well-known ones.',
  },
  {
    variable: 'KEYTURN_CLIENT_CERT_FILE',
    flag: '--client-cert',
    meaning: 'Certificate chain (PEM) to present to a server that admits only clients with a certificate.',
  },
  { variable: 'KEYTURN_CLIENT_KEY_FILE', flag: '--client-key', meaning: 'Private key (PEM) of that certificate.' },
] as const satisfies readonly ClientSetting[]

type ClientVariable = (typeof CLIENT_SETTINGS)[number]['variable']

const VARIABLES: readonly string[] = CLIENT_SETTINGS.map(({ variable }) => variable)

/** Whether a variable is one of these. */
export function isClientVariable(name: string): boolean {
  return VARIABLES.includes(name)
}

/** The value of a variable. An empty one counts as not set, as for a server. */
export function clientVariable(
  environment: Environment,
  name: ClientVariable | 'KEYTURN_BASE_URL',
): string | undefined {
  return environment[name] || undefined
}

/** Whether the environment names a credentials file, or the folder of one. */
export function namesCredentials({ KEYTURN_CREDENTIALS: file, KEYTURN_DATA_DIR: folder }: Environment): boolean {
  return Boolean(file || folder)
}

/**
 * The user's configuration folder for this program, as the XDG Base Directory Specification has it; null without a home folder.
 * A relative `XDG_CONFIG_HOME` is ignored, as that specification wants.
 */
export function userConfigFolder({ XDG_CONFIG_HOME: configured, HOME: home }: Environment): string | null {
  if (configured !== undefined && isAbsolute(configured)) return join(configured, 'keyturn')
  return home ? join(resolve(home), '.config', 'keyturn') : null
}
