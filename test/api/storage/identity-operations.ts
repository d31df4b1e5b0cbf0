/**
 * What the use cases do with projects and service users, without them: the domain's moves run on the real store.
 */
import * as credentials from '../../../src/domain/identities/credential.ts'
import type { InstanceRole } from '../../../src/domain/identities/permission.ts'
import * as projects from '../../../src/domain/identities/project.ts'
import * as users from '../../../src/domain/identities/service-user.ts'
import type { Change } from '../../../src/domain/ports/identities.ts'
import type { ChangeMoment } from '../../../src/domain/time.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'

type Project = projects.Project
type ServiceUser = users.ServiceUser

/** Operations on the identities of a database. Each returns what has become of the thing, null if it was deleted. */
export function identityOperations(database: Database) {
  const store = createIdentityStore(database, TEST_MACS)
  const onProject = (projectId: string, action: string, move: (project: Project, now: Date) => Project | null) =>
    store.changeProject(projectId, anEntry(action, `projects/${projectId}`), (project, now) =>
      become(move(projects.existingProject(project, projectId), now)),
    )
  const onUser = (
    userId: string,
    action: string,
    move: (user: ServiceUser, moment: ChangeMoment) => ServiceUser | null,
  ) =>
    store.changeUser(userId, anEntry(action, `users/${userId}`), (user, moment) =>
      become(move(users.existingUser(user, userId), moment)),
    )

  return {
    store,
    onUser,
    onProject,
    createProject: (projectId: string, name: string) =>
      store.changeProject(projectId, anEntry('create', `projects/${projectId}`), (project, now) =>
        become(project ?? projects.createProject(projectId, name, now)),
      ),
    renameProject: (projectId: string, name: string) =>
      onProject(projectId, 'rename', (project) => ({ ...project, name })),
    deleteProject: (projectId: string) => onProject(projectId, 'delete', () => null),
    addRole: (projectId: string, role: string) =>
      onProject(projectId, 'add role', (project) => projects.addPart(project, { list: 'roles', name: role }, '')),
    removeRole: (projectId: string, role: string) =>
      onProject(projectId, 'remove role', (project) => projects.removePart(project, { list: 'roles', name: role })),
    addScope: (projectId: string, scope: string) =>
      onProject(projectId, 'add scope', (project) => projects.addPart(project, { list: 'scopes', name: scope }, '')),
    removeScope: (projectId: string, scope: string) =>
      onProject(projectId, 'remove scope', (project) => projects.removePart(project, { list: 'scopes', name: scope })),

    createUser: (userId: string, projectId: string) =>
      store.changeUser(userId, anEntry('create', `users/${userId}`), (user, { date }) => {
        const facts = { userId, name: 'robot', projectId, projectName: '', clientCredentialsEnabled: true }
        return become(user ?? users.createServiceUser(facts, date))
      }),
    deleteUser: (userId: string) => onUser(userId, 'delete', () => null),
    setEnabled: (userId: string, enabled: boolean) => onUser(userId, 'enable', (user) => ({ ...user, enabled })),
    setInstanceRoles: (userId: string, instanceRoles: readonly InstanceRole[]) =>
      onUser(userId, 'set instance roles', (user) => ({ ...user, instanceRoles })),
    grantRole: (userId: string, projectId: string, role: string) =>
      onUser(userId, 'grant role', (user) => users.setProjectRole(user, { projectId, role }, true)),
    revokeRole: (userId: string, projectId: string, role: string) =>
      onUser(userId, 'revoke role', (user) => users.setProjectRole(user, { projectId, role }, false)),
    grantScope: (userId: string, scope: string) =>
      onUser(userId, 'grant scope', (user) => users.setScope(user, scope, true)),
    revokeScope: (userId: string, scope: string) =>
      onUser(userId, 'revoke scope', (user) => users.setScope(user, scope, false)),
    addSecret: (userId: string, secretId: string, hash: Uint8Array) =>
      onUser(userId, 'add secret', (user, { clock, date }) => {
        const dates = { createdAt: date, expiresAt: null, deactivatedAt: null, lastUsedAt: null }
        return credentials.addCredential(user, { kind: 'client_secret', credentialId: secretId, hash, ...dates }, clock)
      }),
    deactivateSecret: (userId: string, secretId: string) =>
      onUser(userId, 'deactivate secret', (user, { date }) => credentials.deactivateSecret(user, secretId, date)),
    deleteSecret: (userId: string, secretId: string) =>
      onUser(userId, 'delete secret', (user) => credentials.removeCredential(user, 'client_secret', secretId)),
    addToken: (userId: string, tokenId: string, hash: Uint8Array) =>
      onUser(userId, 'add token', (user, { clock, date }) => {
        const expiresAt = new Date(clock.getTime() + 3_600_000)
        const token = {
          kind: 'personal_access_token',
          credentialId: tokenId,
          hash,
          createdAt: date,
          expiresAt,
        } as const
        return credentials.addCredential(user, token, clock)
      }),
    revokeToken: (userId: string, tokenId: string) =>
      onUser(userId, 'revoke token', (user) => credentials.removeCredential(user, 'personal_access_token', tokenId)),
  }
}

function become<A>(next: A | null): Change<A, A | null> {
  return { next, result: next }
}
