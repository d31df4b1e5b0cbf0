/**
 * `keyturn token`: an access token for the credentials of a file.
 */
import { Command, InvalidArgumentError } from 'commander'
import { isUuid } from '../domain/identifiers.ts'
import { projectAudienceScope, SERVICE_AUDIENCE_SCOPE } from '../domain/identities/token-grant.ts'
import { findTarget } from './connection/target.ts'
import { requestToken } from './connection/token-request.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { printResult } from './output.ts'

interface TokenOptions extends RemoteOptions {
  readonly audience?: string
  readonly scope?: string
}

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
      const { scope, resource } = wantedFrom(options)
      const response = await requestToken(await findTarget(io, options), scope, resource)
      await printResult(io, options, response, () => response.access_token)
    })
}

/** What to ask for. A URI is a resource (RFC 8707), which is how an audience of a project is requested; any other audience adds a scope. */
function wantedFrom({ audience, scope }: TokenOptions): { scope: string; resource?: string } {
  const wanted = audience ?? (scope === undefined ? 'api' : 'own')
  const scopes = scope ?? 'openid'
  if (wanted === 'api') return { scope: `${scopes} ${SERVICE_AUDIENCE_SCOPE}` }
  if (wanted === 'own') return { scope: scopes }
  return wanted.includes(':')
    ? { scope: scopes, resource: wanted }
    : { scope: `${scopes} ${projectAudienceScope(wanted)}` }
}

function parseAudience(text: string): string {
  if (text === 'api' || text === 'own' || URL.canParse(text)) return text
  const projectId = text.toLowerCase()
  if (isUuid(projectId)) return projectId
  throw new InvalidArgumentError(
    'Write "api", "own", the id of a project ("keyturn projects list" prints it) or an audience, which is a URI.',
  )
}
