/**
 * A service user: the account of a machine, its grants, and its legal transitions.
 *
 * Its credentials are in `credential.ts`. The store checks that granted roles and scopes exist.
 */

import { DomainError } from '../errors.ts'
import type { UserCredential } from './credential.ts'
import type { InstanceRole, ProjectMemberRole } from './permission.ts'
import { lackedPermission } from './reach.ts'
import { type RevokedTokens, revokeAllTokens } from './token-revocation.ts'
import { DEFAULT_TOKEN_SETTINGS, type TokenSettings } from './token-settings.ts'

/** What is on or off for a user. Rows, messages and configurations have each under its name here. */
export interface UserSwitches {
  /** Whether the client credentials grant is enabled for the user (Spec §5). */
  readonly clientCredentialsEnabled: boolean
  /** Whether the user gets no bearer tokens, but only tokens that are bound to a key. */
  readonly boundTokensRequired: boolean
  /** Whether its tokens are bound to the client certificate of the token request, if that has one (RFC 8705 §3.4). */
  readonly certificateBoundTokens: boolean
}

const ALL_OFF: UserSwitches = {
  clientCredentialsEnabled: false,
  boundTokensRequired: false,
  certificateBoundTokens: false,
}

export const USER_SWITCHES = Object.keys(ALL_OFF) as readonly (keyof UserSwitches)[]

/** The switches alone. One that is missing in a row is off. */
export function switchesOf(facts: UserSwitches): UserSwitches {
  return Object.assign({}, ...USER_SWITCHES.map((name) => ({ [name]: facts[name] ?? false })))
}

export interface UserSettings extends UserSwitches, TokenSettings {}

export function settingsOf(user: UserSettings): UserSettings {
  const { tokenLifetimeSeconds, tokenClaims } = user
  return { ...switchesOf(user), tokenLifetimeSeconds, tokenClaims }
}

/** A service user with everything that deciding about its tokens and calls needs. */
export interface ServiceUser extends RevokedTokens, UserSettings {
  readonly userId: string
  readonly name: string
  readonly projectId: string
  readonly projectName: string
  readonly createdAt: Date
  readonly enabled: boolean
  readonly credentials: readonly UserCredential[]
  readonly instanceRoles: readonly InstanceRole[]
  readonly managedProjects: ReadonlyMap<string, ProjectMemberRole>
  readonly projectRoles: ReadonlyMap<string, readonly string[]>
  /** Those of these projects whose tokens have the claim `roles` too. */
  readonly rolesClaimProjects: readonly string[]
  /** Custom scopes that are configured on the user's project and granted to the user. */
  readonly customScopes: readonly string[]
  /** The projects that the user may name as audience, its own and those in which it has a role, by their audiences, which are URIs. */
  readonly projectsByAudience: ReadonlyMap<string, string>
}

export type NewServiceUser = Pick<ServiceUser, 'userId' | 'name' | 'projectId' | 'projectName'> & Partial<UserSwitches>

export function createServiceUser(facts: NewServiceUser, at: Date): ServiceUser {
  return {
    ...ALL_OFF,
    ...DEFAULT_TOKEN_SETTINGS,
    ...facts,
    createdAt: at,
    enabled: true,
    credentials: [],
    instanceRoles: [],
    managedProjects: new Map(),
    projectRoles: new Map(),
    rolesClaimProjects: [],
    customScopes: [],
    projectsByAudience: new Map(),
    tokensRevokedAt: null,
    revokedTokens: [],
  }
}

/** The user, if there is one. @throws {DomainError} `user_not_found`. */
export function existingUser(user: ServiceUser | undefined, userId: string): ServiceUser {
  if (user === undefined) {
    throw new DomainError('user_not_found', `there is no service user ${JSON.stringify(userId)}`, {
      metadata: { user_id: userId },
    })
  }
  return user
}

/** The projects that the user has to do with: its own, and those in which or over which it has a role. Some may come twice. */
export function projectsOf({ projectId, projectRoles, managedProjects }: ServiceUser): readonly string[] {
  return [projectId, ...projectRoles.keys(), ...managedProjects.keys()]
}

/** Whether the user is a person of the OpenID provider: the id is made of issuer and subject (a UUID of version 8), those of others are random. */
export function isPerson({ userId }: Pick<ServiceUser, 'userId'>): boolean {
  return /^[\da-f]{8}-[\da-f]{4}-8/.test(userId)
}

/**
 * What becomes of a user by a change, whoever makes it. If its permissions grow, or its kind of sign-in changes, what was issued to it before ends:
 * tokens, and sessions and sign-in links with them. Who could get these need not have the new right.
 *
 * @throws {DomainError} `person_has_no_credentials`: they would outlive the sign-in.
 */
export function settleChange(before: ServiceUser | undefined, next: ServiceUser, clock: Date): ServiceUser {
  if (isPerson(next) && (next.clientCredentialsEnabled || next.credentials.length > 0)) {
    const message =
      'people sign in with the OpenID provider and have no credentials of their own: create a service user'
    throw new DomainError('person_has_no_credentials', message, { metadata: { user_id: next.userId } })
  }
  if (before === undefined) return next
  const signsInOtherwise = before.clientCredentialsEnabled !== next.clientCredentialsEnabled
  return signsInOtherwise || lackedPermission(before, next) !== undefined ? revokeAllTokens(next, clock) : next
}

export function isEnabledOwner(user: ServiceUser): boolean {
  return user.enabled && user.instanceRoles.includes('IAM_OWNER')
}

/** @param otherOwners How many other enabled owners there are. @throws {DomainError} `last_owner`. */
export function assertOwnerLeft(before: ServiceUser, after: ServiceUser | null, otherOwners: number): void {
  if (!isEnabledOwner(before) || otherOwners > 0) return
  if (after !== null && isEnabledOwner(after)) return
  const message = `${JSON.stringify(before.name)} is the last enabled IAM_OWNER: make another user one first`
  throw new DomainError('last_owner', message, { metadata: { user_id: before.userId } })
}

/** Replaces the role over a project in the API. Null: none. */
export function setManagedProject(user: ServiceUser, projectId: string, role: ProjectMemberRole | null): ServiceUser {
  if ((user.managedProjects.get(projectId) ?? null) === role) return user
  const managedProjects = new Map(user.managedProjects)
  if (role === null) managedProjects.delete(projectId)
  else managedProjects.set(projectId, role)
  return { ...user, managedProjects }
}

/** A role of a project, which tokens carry. */
export interface ProjectRole {
  readonly projectId: string
  readonly role: string
}

/** Granting a role that the user has, or taking away one that it does not have, changes nothing. */
export function setProjectRole(user: ServiceUser, { projectId, role }: ProjectRole, isGranted: boolean): ServiceUser {
  const before = user.projectRoles.get(projectId) ?? []
  const roles = withName(before, role, isGranted)
  if (roles === before) return user
  const projectRoles = new Map(user.projectRoles).set(projectId, roles)
  if (roles.length === 0) projectRoles.delete(projectId)
  return { ...user, projectRoles }
}

/** Like `setProjectRole`. */
export function setScope(user: ServiceUser, scope: string, isGranted: boolean): ServiceUser {
  const customScopes = withName(user.customScopes, scope, isGranted)
  return customScopes === user.customScopes ? user : { ...user, customScopes }
}

function withName(names: readonly string[], name: string, isIn: boolean): readonly string[] {
  if (names.includes(name) === isIn) return names
  return isIn ? [...names, name].sort() : names.filter((other) => other !== name)
}
