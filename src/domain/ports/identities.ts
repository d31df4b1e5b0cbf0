/** Projects and service users in the database. `storage/` implements these. */
import type { ChangeEntry } from '../identities/authority.ts'
import type { CredentialKind } from '../identities/credential.ts'
import type { Project, ProjectMember } from '../identities/project.ts'
import type { Reach } from '../identities/reach.ts'
import type { ServiceUser } from '../identities/service-user.ts'
import type { ChangeMoment } from '../time.ts'

/** The next state of a resource. The same object as before: nothing changes. Null: it is deleted. */
export interface Change<A, T> {
  readonly next: A | null
  readonly result: T
}

export interface UserFilter {
  /** Null: of all projects. */
  readonly projectId: string | null
  /** Only those whose name or client ID contains it, in any case. Empty: all. */
  readonly search: string
  readonly reach: Reach
}

/** Every method throws {DomainError} `storage_unavailable`, and those that change something `change_outcome_unknown`. */
export interface IdentityStore {
  /**
   * Like `KeyStore.update`.
   *
   * @throws {DomainError} `project_name_taken`; `project_audience_taken`; `project_has_users` if a project with users would be deleted.
   */
  changeProject<T>(
    projectId: string,
    entry: ChangeEntry,
    decide: (project: Project | undefined, now: Date) => Change<Project, T>,
  ): Promise<T>
  /**
   * Like `KeyStore.update`. A user whom the caller may not see is undefined for `decide`, and a project is too in `changeProject`.
   *
   * @throws {DomainError} what `assertMayChangeUser` throws; `project_not_found`, `project_role_not_found`, `project_scope_not_found`,
   * `trusted_issuer_not_found` for what does not exist; `last_owner`.
   */
  changeUser<T>(
    userId: string,
    entry: ChangeEntry,
    decide: (user: ServiceUser | undefined, moment: ChangeMoment) => Change<ServiceUser, T>,
  ): Promise<T>
  findProject(projectId: string): Promise<Project | undefined>
  /** Those within the reach, ordered by name, which is the cursor. */
  listProjects(page: Page<string>, reach: Reach): Promise<readonly Project[]>
  /** The users with a role over a project in the API, ordered by user id, which is the cursor. */
  listMembers(projectId: string, page: Page<string>): Promise<readonly ProjectMember[]>
  findUser(userId: string): Promise<ServiceUser | undefined>
  /** Those that the filter lets through, ordered by creation date and id. */
  listUsers(
    filter: UserFilter,
    page: Page<{ readonly createdAt: Date; readonly userId: string }>,
  ): Promise<readonly ServiceUser[]>
  findUserByPersonalAccessToken(hash: Uint8Array): Promise<ServiceUser | undefined>
}

/** A page of a list: what comes after a cursor, which is the last item of the page before. */
export interface Page<Cursor> {
  readonly after: Cursor | null
  readonly limit: number
}

/** The credentials that expire soon, or are not used any more. Both methods throw {DomainError} `storage_unavailable`. */
export interface CredentialExpiries {
  /**
   * Writes an audit event 30 and 7 days before a credential expires, once, whichever replica asks; none for one that was made to live for less.
   * @returns How many; not complete: there may be more.
   */
  announce(): Promise<{ readonly announced: number; readonly isComplete: boolean }>
  count(): Promise<CredentialCounts>
}

/** How many credentials of enabled users there are of each kind. */
export interface CredentialCounts {
  /** Those that expire soon: client secrets that were used in the last 30 days, and all others, of which the last use is not known. */
  readonly expiring: readonly { readonly kind: CredentialKind; readonly withinDays: number; readonly count: number }[]
  /** Client secrets that work and were not used for 90 days. */
  readonly unusedSecrets: number
}
