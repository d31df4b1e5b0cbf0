/** The token policy: which scopes, audience and roles an authenticated service user gets (Spec §4.1, §7). */
import { normalUri } from '../identifiers.ts'
import type { ServiceUser } from './service-user.ts'
import type { RevokedTokens } from './token-revocation.ts'
import type { TokenSettings } from './token-settings.ts'

/** Asks for this service itself as audience, which calls to its API need. */
export const SERVICE_AUDIENCE_SCOPE = 'urn:service:iam:org:project:id:service:aud'

/** Where the metadata of this service as a protected resource are (RFC 9728 §3). */
export const PROTECTED_RESOURCE_PATH = '/.well-known/oauth-protected-resource'

export const ROLES_SCOPE = 'urn:service:iam:org:projects:roles'

/** The scopes that every service user can have. The last three are accepted and have no effect. */
export const STANDARD_SCOPES = [
  'openid',
  SERVICE_AUDIENCE_SCOPE,
  ROLES_SCOPE,
  'profile',
  'email',
  'offline_access',
] as const

export function isStandardScope(scope: string): boolean {
  return (STANDARD_SCOPES as readonly string[]).includes(scope)
}

const DEFAULT_SCOPE = 'openid'
const PROJECT_AUDIENCE_SCOPE = /^urn:service:iam:org:project:id:([^:]+):aud$/

export function projectAudienceScope(projectId: string): string {
  return `urn:service:iam:org:project:id:${projectId}:aud`
}

/** Asks for this service as audience, in the words of ZITADEL. */
const ZITADEL_AUDIENCE_SCOPE = 'urn:zitadel:iam:org:project:id:zitadel:aud'

/** The other scopes of ZITADEL that have a counterpart: those for the audience of a project, and for roles. */
const ZITADEL_SCOPE = /^urn:zitadel:(?=iam:org:(?:projects:roles|project:id:[\da-f-]{36}:aud)$)/

export interface TokenRequest {
  readonly projectName: string
  /** Space-separated scopes; missing or empty means `openid`. */
  readonly scope: string | undefined
  readonly isBound: boolean
  readonly serviceAudience: string
  /** The values of `resource`: audiences that are asked for by their URIs (RFC 8707 §2). Default: none. */
  readonly resources?: readonly string[]
  /** Whether scopes of ZITADEL mean what their counterparts mean. Default false: they are unknown. */
  readonly acceptsZitadelScopes?: boolean
}

/** What the token says, and after which revocation it comes. */
export interface GrantedToken extends Pick<RevokedTokens, 'tokensRevokedAt'> {
  readonly kind: 'granted'
  readonly subject: string
  /** Without repetition, in the order of the request. */
  readonly scopes: readonly string[]
  /** What was asked for; the user's own project if nothing was. */
  readonly audience: readonly string[]
  /** Claims with the user's roles; empty unless `urn:service:iam:org:projects:roles` was asked for. */
  readonly roleClaims: Readonly<Record<string, readonly string[]>>
  readonly settings: TokenSettings
}

/** Why there is no token. `wrong_project` and `grant_not_enabled` are `unauthorized_client` in Spec §7. */
export type DeniedToken =
  | { readonly kind: 'denied'; readonly reason: 'wrong_project' | 'grant_not_enabled' | 'binding_required' }
  | { readonly kind: 'denied'; readonly reason: 'scope_not_allowed'; readonly scope: string }
  | { readonly kind: 'denied'; readonly reason: 'resource_not_allowed'; readonly resource: string }

export function decideTokenGrant(user: ServiceUser, request: TokenRequest): GrantedToken | DeniedToken {
  if (request.projectName !== user.projectName) return { kind: 'denied', reason: 'wrong_project' }
  if (!user.clientCredentialsEnabled) return { kind: 'denied', reason: 'grant_not_enabled' }
  if (user.boundTokensRequired && !request.isBound) return { kind: 'denied', reason: 'binding_required' }

  const scopes = splitScope(request.scope)
  const meaningOf = request.acceptsZitadelScopes === true ? fromZitadelScope : (scope: string) => scope
  const audience = new Set<string>()
  for (const scope of scopes) {
    const access = accessThrough(meaningOf(scope), user, request)
    if (!access.allowed) return { kind: 'denied', reason: 'scope_not_allowed', scope }
    if (access.audience !== undefined) audience.add(access.audience)
  }
  for (const requested of request.resources ?? []) {
    const resource = normalUri(requested)
    const allowed = resource === request.serviceAudience || user.projectsByAudience.has(resource)
    if (!allowed) return { kind: 'denied', reason: 'resource_not_allowed', resource }
    audience.add(resource)
  }
  if (audience.size === 0) audience.add(user.projectId)

  return {
    kind: 'granted',
    subject: user.userId,
    scopes,
    audience: [...audience],
    roleClaims: scopes.some((scope) => meaningOf(scope) === ROLES_SCOPE) ? roleClaims(user, audience) : {},
    tokensRevokedAt: user.tokensRevokedAt,
    settings: { tokenLifetimeSeconds: user.tokenLifetimeSeconds, tokenClaims: user.tokenClaims },
  }
}

/** The counterpart of a scope of ZITADEL; any other scope itself. */
function fromZitadelScope(scope: string): string {
  return scope === ZITADEL_AUDIENCE_SCOPE ? SERVICE_AUDIENCE_SCOPE : scope.replace(ZITADEL_SCOPE, 'urn:service:')
}

function splitScope(scope: string | undefined): string[] {
  const scopes = new Set((scope ?? DEFAULT_SCOPE).split(' '))
  scopes.delete('')
  return scopes.size === 0 ? [DEFAULT_SCOPE] : [...scopes]
}

function accessThrough(
  scope: string,
  user: ServiceUser,
  request: TokenRequest,
): { readonly allowed: boolean; readonly audience?: string } {
  if (scope === SERVICE_AUDIENCE_SCOPE) return { allowed: true, audience: request.serviceAudience }
  if (isStandardScope(scope)) return { allowed: true }

  const projectId = PROJECT_AUDIENCE_SCOPE.exec(scope)?.[1]
  if (projectId !== undefined) {
    const mayUse = projectId === user.projectId || (user.projectRoles.get(projectId)?.length ?? 0) > 0
    return mayUse ? { allowed: true, audience: projectId } : { allowed: false }
  }
  return { allowed: user.customScopes.includes(scope) }
}

/** The claim without an id is about the caller, whatever the token is for; those with an id are about the audience. */
function roleClaims(user: ServiceUser, audience: ReadonlySet<string>): Record<string, readonly string[]> {
  const claims: Record<string, readonly string[]> = {
    'urn:service:iam:org:project:roles': user.projectRoles.get(user.projectId) ?? [],
  }
  for (const item of audience) {
    const projectId = user.projectsByAudience.get(item) ?? item
    const roles = user.projectRoles.get(projectId)
    if (roles === undefined) continue
    claims[`urn:service:iam:org:project:${projectId}:roles`] = roles
    // With another audience, roles of this project could be taken for roles there (RFC 9068 §5).
    if (audience.size === 1 && user.rolesClaimProjects.includes(projectId)) claims.roles = roles
  }
  return claims
}
