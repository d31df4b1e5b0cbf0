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
        'user), the id of a project, or an audience of a project, which is a URI',
      parseAudience,
    )
    .option('--scope <scopes>', 'space-separated scopes')
    .action(async (options: TokenOptions) => {
      const response = await requestTokenOf(await findTarget(io, options), scopeOf(options), resourceOf(options))
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
      return isUri(audience) ? (scope ?? 'openid') : `${scope ?? 'openid'} ${projectAudienceScope(audience as string)}`
  }
}

/** The resource to ask for (RFC 8707), which is how an audience of a project is requested. */
function resourceOf({ audience }: TokenOptions): string | undefined {
  return isUri(audience) ? audience : undefined
}

function isUri(audience: string | undefined): boolean {
  return audience?.includes(':') === true
}

function parseAudience(text: string): string {
  if (text === 'api' || text === 'own' || URL.canParse(text)) return text
  const projectId = text.toLowerCase()
  if (isUuid(projectId)) return projectId
  throw new InvalidArgumentError(
    'Write "api", "own", the id of a project ("keyturn projects list" prints it) or an audience, which is a URI.',
  )
}
