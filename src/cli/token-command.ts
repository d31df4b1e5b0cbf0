/**
 * `keyturn token`: an access token for the credentials of a file.
 */
import { Command, InvalidArgumentError } from 'commander'
import { projectAudienceScope, SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import { isUuid } from '../domain/uuid.ts'
import { findTarget } from './connection/target.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { printJson } from './output.ts'
import { API_SCOPE, requestTokenOf } from './token-request.ts'

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
      const response = await requestTokenOf(await findTarget(io, options), scopeOf(options))
      printJson(io, options, response, () => response.access_token)
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
