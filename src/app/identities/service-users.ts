/**
 * The use cases of service users and what they are granted. Their credentials are in `credentials.ts`.
 *
 * Each change is visible on this replica when the call returns, and is an event of the audit trail.
 */

import { userResource } from '../../domain/audit-resources.ts'
import type { Actor } from '../../domain/identities/authority.ts'
import type { InstanceRole, ProjectMemberRole } from '../../domain/identities/permission.ts'
import { existingProject } from '../../domain/identities/project.ts'
import { visibleUser } from '../../domain/identities/reach.ts'
import {
  createServiceUser,
  existingUser,
  grantProjectRole,
  grantScope,
  type NewServiceUser,
  revokeProjectRole,
  revokeScope,
  type ServiceUser,
  setManagedProject,
  settingsOf,
  type UserSettings,
} from '../../domain/identities/service-user.ts'
import { revokeAllTokens } from '../../domain/identities/token-revocation.ts'
import { parseTokenClaims, parseTokenLifetime } from '../../domain/identities/token-settings.ts'
import type { IdentityStore, Page, UserFilter } from '../../domain/ports/identities.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import type { Replica } from '../replica/replica.ts'

export interface ServiceUsersOptions {
  readonly store: IdentityStore
  readonly replica: Pick<Replica, 'refreshAfterWrite'>
  readonly newId: () => string
  /** The lifetime of tokens of the instance, in seconds: the longest. */
  readonly tokenLifetimeSeconds: number
}

/** The facts of a user that can be edited. Those that are left out stay. */
export interface ServiceUserEdit extends Partial<Omit<UserSettings, 'tokenClaims'>> {
  readonly name?: string
  /** A JSON object; empty: none. */
  readonly tokenClaims?: string
}

/**
 * Every method throws {DomainError} `storage_unavailable`, and `user_not_found` if it takes the id of a user that the caller cannot see;
 * what changes something also `permission_not_held`, `change_outcome_unknown` and `change_not_in_force`.
 */
export class ServiceUsers {
  readonly #options: ServiceUsersOptions

  constructor(options: ServiceUsersOptions) {
    this.#options = options
  }

  /** Creates a user without credentials and grants. @throws {DomainError} `project_not_found`. */
  async create(actor: Actor, facts: Omit<NewServiceUser, 'userId' | 'projectName'>): Promise<ServiceUser> {
    const { store, replica, newId } = this.#options
    // Whether the caller may see it, and add to it, is decided below.
    const project = existingProject(await store.findProject(facts.projectId), facts.projectId)
    const userId = newId()
    const entry = { ...actor, resource: userResource(userId) }
    const user = await store.changeUser(userId, entry, (_none, { date }) => {
      const created = createServiceUser({ ...facts, userId, projectName: project.name }, date)
      return { next: created, result: created }
    })
    await replica.refreshAfterWrite()
    return user
  }

  async get({ authority }: Actor, userId: string): Promise<ServiceUser> {
    return existingUser(visibleUser(authority.reach, await this.#options.store.findUser(userId)), userId)
  }

  /** Those that the filter lets through and the caller may see, ordered by creation date and id. */
  list(
    { authority }: Actor,
    filter: Omit<UserFilter, 'reach'>,
    page: Page<{ readonly createdAt: Date; readonly userId: string }>,
  ): Promise<readonly ServiceUser[]> {
    return this.#options.store.listUsers({ ...filter, reach: authority.reach }, page)
  }

  /** @throws {DomainError} `token_lifetime_invalid`; `token_claims_invalid`. */
  async edit(
    actor: Actor,
    userId: string,
    { tokenLifetimeSeconds, tokenClaims, ...edit }: ServiceUserEdit,
  ): Promise<ServiceUser> {
    const limit = this.#options.tokenLifetimeSeconds
    const lifetime =
      typeof tokenLifetimeSeconds === 'number' ? parseTokenLifetime(tokenLifetimeSeconds, limit) : tokenLifetimeSeconds
    const changes = {
      ...edit,
      ...(lifetime === undefined ? {} : { tokenLifetimeSeconds: lifetime }),
      ...(tokenClaims === undefined ? {} : { tokenClaims: tokenClaims === '' ? {} : parseTokenClaims(tokenClaims) }),
    }
    return this.#change(actor, userId, [], (user) => {
      const edited = { ...user, ...changes }
      const isSame = JSON.stringify(settingsOf(edited)) === JSON.stringify(settingsOf(user))
      return isSame && edited.name === user.name ? user : edited
    })
  }

  enable(actor: Actor, userId: string): Promise<ServiceUser> {
    return this.#change(actor, userId, [], (user) => (user.enabled ? user : { ...user, enabled: true }))
  }

  /** @throws {DomainError} `last_owner`. */
  disable(actor: Actor, userId: string): Promise<ServiceUser> {
    return this.#change(actor, userId, [], (user) => (user.enabled ? { ...user, enabled: false } : user))
  }

  /** Deletes a user with its credentials and grants. @throws {DomainError} `last_owner`. */
  async delete(actor: Actor, userId: string): Promise<void> {
    const { store, replica } = this.#options
    const entry = { ...actor, resource: userResource(userId) }
    await store.changeUser(userId, entry, (user) => {
      existingUser(user, userId)
      return { next: null, result: undefined }
    })
    await replica.refreshAfterWrite()
  }

  /** Sets the roles over the instance; other roles are revoked. @throws {DomainError} `last_owner`. */
  setInstanceRoles(actor: Actor, userId: string, roles: readonly InstanceRole[]): Promise<ServiceUser> {
    const instanceRoles = [...new Set(roles)].sort()
    return this.#change(actor, userId, ['instance_roles'], (user) =>
      isSameSet(user.instanceRoles, instanceRoles) ? user : { ...user, instanceRoles },
    )
  }

  /** Sets the role over a project in the API. @param role Null: none. @throws {DomainError} `project_not_found`. */
  setManagedProject(
    actor: Actor,
    userId: string,
    { projectId, role }: { readonly projectId: string; readonly role: ProjectMemberRole | null },
  ): Promise<ServiceUser> {
    return this.#change(actor, userId, ['managed_projects', projectId], (user) =>
      setManagedProject(user, projectId, role),
    )
  }

  /** @throws {DomainError} `project_role_not_found`. */
  grantProjectRole(
    actor: Actor,
    userId: string,
    { projectId, role }: { readonly projectId: string; readonly role: string },
  ): Promise<ServiceUser> {
    return this.#change(actor, userId, ['projects', projectId, 'roles', role], (user) =>
      grantProjectRole(user, projectId, role),
    )
  }

  revokeProjectRole(
    actor: Actor,
    userId: string,
    { projectId, role }: { readonly projectId: string; readonly role: string },
  ): Promise<ServiceUser> {
    return this.#change(actor, userId, ['projects', projectId, 'roles', role], (user) =>
      revokeProjectRole(user, projectId, role),
    )
  }

  /** @throws {DomainError} `project_scope_not_found`. */
  grantScope(actor: Actor, userId: string, scope: string): Promise<ServiceUser> {
    return this.#change(actor, userId, ['scopes', scope], (user) => grantScope(user, scope))
  }

  revokeScope(actor: Actor, userId: string, scope: string): Promise<ServiceUser> {
    return this.#change(actor, userId, ['scopes', scope], (user) => revokeScope(user, scope))
  }

  /** Revokes all access tokens that the user has got so far. */
  async revokeTokens(actor: Actor, userId: string): Promise<void> {
    await this.#change(actor, userId, ['access_tokens'], (user, { clock }) => revokeAllTokens(user, clock))
  }

  async #change(
    actor: Actor,
    userId: string,
    part: readonly string[],
    next: (user: ServiceUser, moment: ChangeMoment) => ServiceUser,
  ): Promise<ServiceUser> {
    const { store, replica } = this.#options
    const entry = { ...actor, resource: userResource(userId, ...part) }
    const result = await store.changeUser(userId, entry, (user, moment) => {
      const changed = next(existingUser(user, userId), moment)
      return { next: changed, result: changed }
    })
    await replica.refreshAfterWrite()
    return result
  }
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item))
}
