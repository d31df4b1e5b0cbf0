/**
 * One project: its service users, roles, custom scopes, audiences and members.
 */
import type { CallOptions } from '@connectrpc/connect'
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import type { Permission } from '../../src/domain/identities/permission.ts'
import { everyItemOf, projects, serviceUsers } from '../api/clients.ts'
import { linkTo } from '../navigation/route.ts'
import { Chips } from '../parts/chips.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { ConfirmDialog, DeleteButton, DialogButton } from '../parts/dialogs.tsx'
import { ItemView } from '../parts/loaded-view.tsx'
import { CardSection, PageHeading } from '../parts/page.tsx'
import { Copyable, When } from '../parts/values.tsx'
import { may, mayWithProject } from '../session/session.ts'
import { CreateUserDialog, UserState } from '../users/users-page.tsx'
import { MembersSection } from './members-section.tsx'
import { ProjectNameField } from './projects-page.tsx'

/** So many users are on the page of their project. */
const USERS = 20

const KEPT = 'Tokens that have it keep it until they expire.'

interface WordsOfProject {
  readonly id: 'roles' | 'scopes' | 'audiences'
  readonly title: string
  readonly hint: string
  readonly permission: Permission
  /** What removing one does. */
  readonly consequence: string
  readonly addLabel: string
  add(projectId: string, word: string): Promise<unknown>
  remove(projectId: string, word: string): Promise<unknown>
}

const WORDS: readonly WordsOfProject[] = [
  {
    id: 'roles',
    title: 'Roles',
    hint: 'Words that its services understand. They can be granted to service users of any project.',
    permission: 'iam.project.role.write',
    consequence: `It is taken away from all users. New tokens do not have it. ${KEPT}`,
    addLabel: 'New role',
    add: (projectId, role) => projects.addProjectRole({ projectId, role }),
    remove: (projectId, role) => projects.removeProjectRole({ projectId, role }),
  },
  {
    id: 'scopes',
    title: 'Custom scopes',
    hint: 'Its service users request them, if they are granted.',
    permission: 'iam.project.scope.write',
    consequence: `It is taken away from all users. Token requests with it are refused. ${KEPT}`,
    addLabel: 'New scope',
    add: (projectId, scope) => projects.addProjectScope({ projectId, scope }),
    remove: (projectId, scope) => projects.removeProjectScope({ projectId, scope }),
  },
  {
    id: 'audiences',
    title: 'Audiences',
    hint: 'URIs that its services know themselves by, requested with the parameter resource.',
    permission: 'iam.project.audience.write',
    consequence: `Token requests for it are refused. ${KEPT}`,
    addLabel: 'New audience',
    add: (projectId, audience) => projects.addProjectAudience({ projectId, audience }),
    remove: (projectId, audience) => projects.removeProjectAudience({ projectId, audience }),
  },
]

export function ProjectPage({ id: projectId }: { readonly id: string }) {
  return (
    <ItemView place={['projects', 'Projects']} id={projectId} read={(options) => readProject(projectId, options)}>
      {({ project, members, users, ...words }) => (
        <>
          <PageHeading title={project.name} subtitle={<Copyable text={project.projectId} what="the project id" />}>
            <ProjectActions project={project} />
          </PageHeading>
          <p class="summary">
            Created <When at={project.creationDate} />. Its{' '}
            <a href={linkTo(['users'], { project: projectId })}>service users</a>
            {may('iam.audit.read') && (
              <>
                , and what <a href={linkTo(['audit'], { resource: `projects/${projectId}` })}>was done to it</a>
              </>
            )}
            .
          </p>
          <UsersSection project={project} users={users.serviceUsers} isCut={users.nextPageToken !== ''} />
          {WORDS.map(({ id, title, hint, permission, consequence, addLabel, add, remove }) => (
            <CardSection key={id} title={title}>
              <p class="hint">{hint}</p>
              <Chips
                label={title}
                items={words[id].map((name) => ({ name, remove: () => remove(projectId, name) }))}
                mayChange={mayWithProject(permission, projectId)}
                consequence={consequence}
                adding={{ label: addLabel, add: (word) => add(projectId, word) }}
              />
            </CardSection>
          ))}
          <MembersSection projectId={projectId} members={members} />
        </>
      )}
    </ItemView>
  )
}

async function readProject(projectId: string, options: CallOptions) {
  const [{ project }, roles, scopes, audiences, members, users] = await Promise.all([
    projects.getProject({ projectId }, options),
    everyItemOf('roles', (page) => projects.listProjectRoles({ projectId, ...page }, options)),
    everyItemOf('scopes', (page) => projects.listProjectScopes({ projectId, ...page }, options)),
    everyItemOf('audiences', (page) => projects.listProjectAudiences({ projectId, ...page }, options)),
    everyItemOf('members', (page) => projects.listProjectMembers({ projectId, ...page }, options)),
    serviceUsers.listServiceUsers({ projectId, pageSize: USERS }, options),
  ])
  return project && { project, roles, scopes, audiences, members, users }
}

const USER_COLUMNS: readonly Column<ServiceUser>[] = [
  { name: 'Name', kind: 'main', cell: ({ userId, name }) => <a href={linkTo(['users', userId])}>{name}</a> },
  { name: 'State', cell: (user) => <UserState user={user} /> },
  { name: 'Created', cell: ({ creationDate }) => <When at={creationDate} /> },
]

interface UsersSectionProps {
  readonly project: Project
  readonly users: readonly ServiceUser[]
  /** Whether there are more than these. */
  readonly isCut: boolean
}

function UsersSection({ project, users, isCut }: UsersSectionProps) {
  const { projectId } = project
  const action = mayWithProject('iam.user.write', projectId) && (
    <DialogButton text="Create user" dialog={<CreateUserDialog projects={[project]} projectId={projectId} />} />
  )
  return (
    <CardSection title="Service users" actions={action}>
      <DataTable
        caption="Service users"
        columns={USER_COLUMNS}
        rows={users}
        keyOf={({ userId }) => userId}
        empty="None. A service user is the account of a machine, which requests tokens for the services of the project."
      />
      {isCut && (
        <p>
          <a href={linkTo(['users'], { project: projectId })}>All service users of the project</a>
        </p>
      )}
    </CardSection>
  )
}

function ProjectActions({ project: { projectId, name } }: { readonly project: Project }) {
  return (
    <>
      {mayWithProject('iam.project.write', projectId) && (
        <DialogButton text="Rename" dialog={<RenameDialog projectId={projectId} name={name} />} />
      )}
      {mayWithProject('iam.project.delete', projectId) && (
        <DeleteButton title={`Delete ${name}?`} place="projects" remove={() => projects.deleteProject({ projectId })}>
          Its roles, custom scopes and audiences are deleted with it, and the roles are taken away from all users. A
          project that has service users is not deleted.
        </DeleteButton>
      )}
    </>
  )
}

function RenameDialog({ projectId, name }: { readonly projectId: string; readonly name: string }) {
  const [newName, setNewName] = useState(name)
  return (
    <ConfirmDialog
      title={`Rename ${name}?`}
      verb="Rename"
      isDangerous
      isIncomplete={newName === name}
      change={() => projects.updateProject({ projectId, name: newName, updateMask: { paths: ['name'] } })}
    >
      <p>
        <strong>The client IDs of all its service users change at once.</strong> Clients that use the old ones get no
        tokens.
      </p>
      <ProjectNameField value={newName} onChange={setNewName} />
    </ConfirmDialog>
  )
}
