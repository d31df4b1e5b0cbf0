/**
 * `keyturn initial-credentials`: credentials for the first administrator of an instance that does not exist yet.
 */
import { Command } from 'commander'
import { readConfig } from '../../config/read-config.ts'
import { OAUTH_PATHS } from '../../oauth/endpoints.ts'
import { newInitialCredentials } from '../../secret-files/initial-credentials.ts'
import type { Io } from '../io.ts'

/** Of the project that the administrator belongs to. */
const PROJECT_NAME = 'keyturn'

/** The command. */
export function initialCredentialsCommand(io: Io): Command {
  return new Command('initial-credentials')
    .argument('<base-url>', 'base URL of the servers that will be started with them')
    .action((text: string) => {
      const baseUrl = readConfig({ KEYTURN_BASE_URL: text }, {}).baseUrl ?? text
      const tokenEndpoint = baseUrl + OAUTH_PATHS.token
      const credentials = newInitialCredentials({ baseUrl, tokenEndpoint, projectName: PROJECT_NAME })
      io.stdout.write(`${JSON.stringify(credentials, null, 2)}\n`)
    })
}
