/**
 * `keyturn token`: an access token for the credentials of a file.
 */
import { Command, InvalidArgumentError } from 'commander'
import { credentialsFileFrom } from '../config/environment.ts'
import { projectAudienceScope, SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import { isUuid } from '../domain/uuid.ts'
import { readCredentials } from '../secret-files/credentials-file.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { API_SCOPE, requestToken } from './token-request.ts'

interface TokenOptions extends RemoteOptions {
  readonly audience?: string
  readonly scope?: string
}

/** The command. */
export function tokenCommand(io: Io): Command {
  return withRemoteOptions(new Command('token'))
    .option(
      '--audience <audience>',
      'whom the token is for: "api" (calls of Keyturn itself; the default without --scope), "own" (the project of the ' +
        'user), or the id of a project',
      parseAudience,
    )
    .option('--scope <scopes>', 'space-separated scopes')
    .action(async (options: TokenOptions) => {
      const credentials = await readCredentials(credentialsFileFrom(options, io.env))
      const response = await requestToken(credentials, scopeOf(options))
      io.stdout.write(`${options.json === true ? JSON.stringify(response, null, 2) : response.access_token}\n`)
    })
}

/** The scopes to ask for. An audience adds its scope; without one the audience is the user's own project. */
function scopeOf({ audience, scope }: TokenOptions): string {
  switch (audience ?? (scope === undefined ? 'api' : 'own')) {
    case 'api':
      return scope === undefined ? API_SCOPE : `${scope} ${SERVICE_AUDIENCE_SCOPE}`
    case 'own':
      return scope ?? 'openid'
    default:
      return `${scope ?? 'openid'} ${projectAudienceScope(audience as string)}`
  }
}

function parseAudience(text: string): string {
  if (text === 'api' || text === 'own') return text
  const projectId = text.toLowerCase()
  if (isUuid(projectId)) return projectId
  throw new InvalidArgumentError('Write "api", "own" or the id of a project ("keyturn projects list" prints it).')
}
