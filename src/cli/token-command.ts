/**
 * `keyturn token`: an access token for the credentials of a file.
 */
import { Command } from 'commander'
import { credentialsFileFrom } from '../config/config.ts'
import { readCredentials } from '../server/credentials-file.ts'
import { API_SCOPE, requestToken } from './api-client.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'

/** The command. */
export function tokenCommand(): Command {
  return withRemoteOptions(new Command('token'))
    .description('Print an access token for the credentials.')
    .option('--scope <scopes>', 'space-separated scopes', API_SCOPE)
    .action(async (options: RemoteOptions & { readonly scope: string }) => {
      const credentials = await readCredentials(credentialsFileFrom(options))
      const response = await requestToken(credentials, options.scope)
      process.stdout.write(`${options.json === true ? JSON.stringify(response, null, 2) : response.access_token}\n`)
    })
}
