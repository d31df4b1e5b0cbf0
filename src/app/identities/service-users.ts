/**
 * The use cases of service users and what they are granted. Their credentials are in `credentials.ts`.
 *
 * What goes for every change of a user, such as that fewer rights end its tokens, the store asks of the domain (`settleChange`).
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
  type NewServiceUser,
  type ProjectRole,
  type ServiceUser,
  setManagedProject,
  setProjectRole,
  setScope,
  settingsOf,
  type UserSettings,
} from '../../domain/identities/service-user.ts'
import { revokeAllTokens } from '../../domain/identities/token-revocation.ts'
import { parseTokenClaims, parseTokenLifetime } from '../../domain/identities/token-settings.ts'
import type { Change, IdentityStore, Page, UserFilter } from '../../domain/ports/identities.ts'
import type { ChangeMoment } from '../../domain/time.ts'
import type { Replica } from '../replica/replica.ts'

export interface ServiceUsersOptions {
  readonly store: IdentityStore
  readonly replica: Pick<Replica, 'inForce'>
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

export type ServiceUsers = ReturnType<typeof createServiceUsers>

/**
 * Every method throws {DomainError} `storage_unavailable`, and `user_not_found` if it takes the id of a user that the caller cannot see;
 * what changes something also `permission_not_held`, `change_outcome_unknown` and `change_not_in_force`.
 */
export function createServiceUsers({ store, replica, newId, tokenLifetimeSeconds: limit }: ServiceUsersOptions) {
  const changeAny = <T>(
    actor: Actor,
    userId: string,
    part: readonly string[],
    decide: (user: ServiceUser | undefined, moment: ChangeMoment) => Change<ServiceUser, T>,
  ): Promise<T> => {
    const entry = { ...actor, resource: userResource(userId, ...part) }
    return replica.inForce(store.changeUser(userId, entry, decide))
  }

  const change = (
    actor: Actor,
    userId: string,
    part: readonly string[],
    next: (user: ServiceUser, moment: ChangeMoment) => ServiceUser,
  ): Promise<ServiceUser> =>
    changeAny(actor, userId, part, (user, moment) => becoming(next(existingUser(user, userId), moment)))

  return {
    /** Creates a user without credentials and grants. @throws {DomainError} `project_not_found`. */
    async create(actor: Actor, facts: Omit<NewServiceUser, 'userId' | 'projectName'>): Promise<ServiceUser> {
      // Whether the caller may see it, and add to it, is decided below.
      const project = existingProject(await store.findProject(facts.projectId), facts.projectId)
      const user = { ...facts, userId: newId(), projectName: project.name }
      return changeAny(actor, user.userId, [], (_none, { date }) => becoming(createServiceUser(user, date)))
    },

    get: async ({ authority }: Actor, userId: string): Promise<ServiceUser> =>
      existingUser(visibleUser(authority.reach, await store.findUser(userId)), userId),

    /** Those that the filter lets through and the caller may see, ordered by creation date and id. */
    list: (
      { authority }: Actor,
      filter: Omit<UserFilter, 'reach'>,
      page: Page<{ readonly createdAt: Date; readonly userId: string }>,
    ): Promise<readonly ServiceUser[]> => store.listUsers({ ...filter, reach: authority.reach }, page),

    /** @throws {DomainError} `token_lifetime_invalid`; `token_claims_invalid`. */
    async edit(
      actor: Actor,
      userId: string,
      { tokenLifetimeSeconds, tokenClaims, ...edit }: ServiceUserEdit,
    ): Promise<ServiceUser> {
      const lifetime =
        typeof tokenLifetimeSeconds === 'number'
          ? parseTokenLifetime(tokenLifetimeSeconds, limit)
          : tokenLifetimeSeconds
      const changes = {
        ...edit,
        ...(lifetime === undefined ? {} : { tokenLifetimeSeconds: lifetime }),
        ...(tokenClaims === undefined ? {} : { tokenClaims: tokenClaims === '' ? {} : parseTokenClaims(tokenClaims) }),
      }
      return change(actor, userId, [], (user) => {
        const edited = { ...user, ...changes }
        const isSame = JSON.stringify(settingsOf(edited)) === JSON.stringify(settingsOf(user))
        return isSame && edited.name === user.name ? user : edited
      })
    },

    /** @throws {DomainError} `last_owner`. */
    setEnabled: (actor: Actor, userId: string, enabled: boolean) =>
      change(actor, userId, [], (user) => (user.enabled === enabled ? user : { ...user, enabled })),

    /** Deletes a user with its credentials and grants. @throws {DomainError} `last_owner`. */
    delete: (actor: Actor, userId: string): Promise<void> =>
      changeAny(actor, userId, [], (user) => {
        existingUser(user, userId)
        return { next: null, result: undefined }
      }),

    /** Sets the roles over the instance; other roles are revoked. @throws {DomainError} `last_owner`. */
    setInstanceRoles(actor: Actor, userId: string, roles: readonly InstanceRole[]) {
      const instanceRoles = [...new Set(roles)].sort()
      return change(actor, userId, ['instance_roles'], (user) =>
        isSameSet(user.instanceRoles, instanceRoles) ? user : { ...user, instanceRoles },
      )
    },

    /** Sets the role over a project in the API. @param role Null: none. @throws {DomainError} `project_not_found`. */
    setManagedProject: (actor: Actor, userId: string, projectId: string, role: ProjectMemberRole | null) =>
      change(actor, userId, ['managed_projects', projectId], (user) => setManagedProject(user, projectId, role)),

    /** @throws {DomainError} `project_role_not_found`. */
    setProjectRole: (actor: Actor, userId: string, role: ProjectRole, isGranted: boolean) =>
      change(actor, userId, ['projects', role.projectId, 'roles', role.role], (user) =>
        setProjectRole(user, role, isGranted),
      ),

    /** @throws {DomainError} `project_scope_not_found`. */
    setScope: (actor: Actor, userId: string, scope: string, isGranted: boolean) =>
      change(actor, userId, ['scopes', scope], (user) => setScope(user, scope, isGranted)),

    /** Revokes all access tokens that the user has got so far. */
    revokeTokens: (actor: Actor, userId: string) =>
      change(actor, userId, ['access_tokens'], (user, { clock }) => revokeAllTokens(user, clock)),
  }
}

/** The result is what is stored. */
function becoming(user: ServiceUser): Change<ServiceUser, ServiceUser> {
  return { next: user, result: user }
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item))
}
