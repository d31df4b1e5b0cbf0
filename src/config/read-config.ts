/**
 * Reads the configuration of the server from variables and flags.
 *
 * Only this folder reads the environment. All mistakes are reported at once, and the server does not start with one.
 */
import type { z } from 'zod'
import { type Config, ConfigError, toConfig } from './config.ts'
import { contradictions } from './contradictions.ts'
import { settingsIn } from './environment.ts'
import { SETTINGS, VARIABLES, type Variables } from './settings.ts'
import { readTraceSampling } from './trace-sampling.ts'

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
  const config = toConfig(parsed.data)
  const shown = {
    ...shownOf(parsed.data, given),
    KEYTURN_BASE_URL: config.baseUrl ?? defaultBaseUrl(config),
    KEYTURN_DATA_DIR: config.dataDir,
    KEYTURN_CREDENTIALS: config.credentialsFile,
  }
  return { ...config, traceSampling: config.tracesTo === null ? null : readTraceSampling(environment), shown }
}

function describe(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${key}: there is no such variable`)
  return [`${issue.path.join('.')}: ${issue.message}`]
}

function shownOf(values: Variables, given: Readonly<Record<string, string>>): Config['shown'] {
  return Object.fromEntries(
    SETTINGS.map(({ variable, default: fallback, show }) => {
      const value = values[variable as keyof Variables]
      if (value === undefined) return [variable, null]
      if (show !== undefined) return [variable, show(value as never)]
      return [variable, typeof value === 'string' || typeof value === 'number' ? value : (given[variable] ?? fallback)]
    }),
  )
}

/** What a server takes that is given none. Port 0 becomes another one at the start. */
function defaultBaseUrl({ tls, listen }: ReturnType<typeof toConfig>): string {
  return `${tls === null ? 'http' : 'https'}://localhost:${listen.port === 0 ? '<port>' : listen.port}`
}
