/**
 * Signs people in whom an OpenID provider has confirmed: each gets a service user of its own, with the roles that the provider's claims give.
 *
 * The change of the user is the right of the system, because the operator has configured who gets which role. All that the person does
 * afterwards is done by the right of the user.
 */
import { ANONYMOUS } from '../../domain/audit.ts'
import { projectResource, userResource } from '../../domain/audit-resources.ts'
import { nameOf, notAllowed, type Person, planPerson, type RoleRule, rolesOf } from '../../domain/console/person.ts'
import { DomainError } from '../../domain/errors.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import { createProject } from '../../domain/identities/project.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Replica } from '../replica/replica.ts'
import { type BrowserRequest, type ConsoleSessions, type OpenedSession, SIGN_IN } from './console-sessions.ts'

const PEOPLE_PROJECT_NAME = 'people'

export interface PeopleOptions {
  readonly store: Pick<IdentityStore, 'findUser' | 'findProject' | 'changeProject' | 'changeUser'>
  readonly replica: Pick<Replica, 'guard' | 'assertPrimary' | 'refreshAfterWrite'>
  readonly sessions: Pick<ConsoleSessions, 'openFor'>
  readonly audit: Pick<AuditTrail, 'refuse'>
  readonly rules: readonly RoleRule[]
  readonly idOf: (...texts: readonly string[]) => string
}

export type People = ReturnType<typeof createPeople>

export function createPeople({ store, replica, sessions, audit, rules, idOf }: PeopleOptions) {
  const makeProject = async (projectId: string, request: BrowserRequest): Promise<void> => {
    if ((await store.findProject(projectId)) !== undefined) return
    const entry = { ...SYSTEM, ...request, action: 'console/people', resource: projectResource(projectId) }
    await store.changeProject(projectId, entry, (project, at) => {
      return { next: project ?? createProject(projectId, PEOPLE_PROJECT_NAME, at), result: undefined }
    })
  }

  const open = async (person: Person, userId: string, isKnown: boolean, request: BrowserRequest) => {
    const instanceRoles = rolesOf(person, rules)
    if (instanceRoles.length === 0 && !isKnown) throw notAllowed()
    const projectId = idOf(PEOPLE_PROJECT_NAME)
    await makeProject(projectId, request)
    const facts = { userId, projectId, projectName: PEOPLE_PROJECT_NAME, name: nameOf(person), instanceRoles }
    const entry = { ...SYSTEM, ...request, action: 'console/person', resource: userResource(userId) }
    await store.changeUser(userId, entry, (user, { date }) => {
      return { next: planPerson(user, facts, date), result: undefined }
    })
    await replica.refreshAfterWrite()
    if (instanceRoles.length === 0) throw notAllowed()
    return await sessions.openFor(userId, request)
  }

  return {
    /**
     * Opens a session of a person.
     * @throws {DomainError} `sign_in_not_allowed`, `last_owner`, `console_limit_reached`, `project_name_taken` if another project has the name
     * of the project of people; `storage_unavailable`, `change_outcome_unknown`.
     */
    async signIn(person: Person, request: BrowserRequest): Promise<OpenedSession> {
      replica.guard.assertCurrent()
      replica.assertPrimary()
      const userId = idOf(person.issuer, person.subject)
      const isKnown = (await store.findUser(userId)) !== undefined
      try {
        return await open(person, userId, isKnown, request)
      } catch (error) {
        if (error instanceof DomainError && error.code === 'sign_in_not_allowed') {
          const resource = isKnown ? userResource(userId) : ''
          audit.refuse({ ...request, actor: ANONYMOUS, action: SIGN_IN, resource }, 'SIGN_IN_NOT_ALLOWED')
        }
        throw error
      }
    },
  }
}
