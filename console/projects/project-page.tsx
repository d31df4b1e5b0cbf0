/**
 * One project: its service users, roles, custom scopes, audiences and members.
 */
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { projects, serviceUsers } from '../api/clients.ts'
import { everyItemOf } from '../api/every-page.ts'
import { millisecondsOf } from '../format/moment.ts'
import { useLoaded } from '../live/loaded.ts'
import { goTo, linkTo } from '../navigation/route.ts'
import { Chips } from '../parts/chips.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { When } from '../parts/when.tsx'
import { mayWithProject } from '../session/rights.ts'
import { may } from '../session/session.ts'
import { MembersSection } from './members-section.tsx'
import { ProjectNameField } from './project-name-field.tsx'
import { ProjectUsersSection } from './project-users-section.tsx'

/** So many users are on the page of their project. */
const USERS = 20

const KEPT = 'Tokens that have it keep it until they expire.'

export function ProjectPage({ id: projectId }: { readonly id: string }) {
  const loaded = useLoaded(`project ${projectId}`, async (options) => {
    const [{ project }, roles, scopes, audiences, members, users] = await Promise.all([
      projects.getProject({ projectId }, options),
      everyItemOf(async (page) => {
        const { roles: items, nextPageToken } = await projects.listProjectRoles({ projectId, ...page }, options)
        return { items, nextPageToken }
      }),
      everyItemOf(async (page) => {
        const { scopes: items, nextPageToken } = await projects.listProjectScopes({ projectId, ...page }, options)
        return { items, nextPageToken }
      }),
      everyItemOf(async (page) => {
        const { audiences: items, nextPageToken } = await projects.listProjectAudiences({ projectId, ...page }, options)
        return { items, nextPageToken }
      }),
      everyItemOf(async (page) => {
        const { members: items, nextPageToken } = await projects.listProjectMembers({ projectId, ...page }, options)
        return { items, nextPageToken }
      }),
      serviceUsers.listServiceUsers({ projectId, pageSize: USERS }, options),
    ])
    return { project, roles, scopes, audiences, members, users }
  })
  return (
    <>
      <p class="crumbs">
        <a href={linkTo(['projects'])}>Projects</a>
      </p>
      <LoadedView loaded={loaded}>
        {({ project, roles, scopes, audiences, members, users }) =>
          project !== undefined && (
            <>
              <PageHeading title={project.name} subtitle={<Copyable text={project.projectId} what="the project id" />}>
                <ProjectActions project={project} />
              </PageHeading>
              <p class="summary">
                Created <When at={millisecondsOf(project.creationDate)} />. Its{' '}
                <a href={linkTo(['users'], { project: projectId })}>service users</a>
                {may('iam.audit.read') && (
                  <>
                    , and what <a href={linkTo(['audit'], { resource: `projects/${projectId}` })}>was done to it</a>
                  </>
                )}
                .
              </p>
              <ProjectUsersSection project={project} users={users.serviceUsers} isCut={users.nextPageToken !== ''} />
              <section class="card" aria-labelledby="roles-title">
                <h2 id="roles-title">Roles</h2>
                <p class="hint">
                  Words that its services understand. They can be granted to service users of any project.
                </p>
                <Chips
                  label="Roles"
                  empty="None."
                  items={roles}
                  mayChange={mayWithProject('iam.project.role.write', projectId)}
                  removing={{
                    consequence: `It is taken away from all users. New tokens do not have it. ${KEPT}`,
                    remove: (role) => projects.removeProjectRole({ projectId, role }),
                  }}
                  adding={{ label: 'New role', add: (role) => projects.addProjectRole({ projectId, role }) }}
                />
              </section>
              <section class="card" aria-labelledby="scopes-title">
                <h2 id="scopes-title">Custom scopes</h2>
                <p class="hint">Its service users request them, if they are granted.</p>
                <Chips
                  label="Custom scopes"
                  empty="None."
                  items={scopes}
                  mayChange={mayWithProject('iam.project.scope.write', projectId)}
                  removing={{
                    consequence: `It is taken away from all users. Token requests with it are refused. ${KEPT}`,
                    remove: (scope) => projects.removeProjectScope({ projectId, scope }),
                  }}
                  adding={{ label: 'New scope', add: (scope) => projects.addProjectScope({ projectId, scope }) }}
                />
              </section>
              <section class="card" aria-labelledby="audiences-title">
                <h2 id="audiences-title">Audiences</h2>
                <p class="hint">URIs that its services know themselves by, requested with the parameter resource.</p>
                <Chips
                  label="Audiences"
                  empty="None."
                  items={audiences}
                  mayChange={mayWithProject('iam.project.audience.write', projectId)}
                  removing={{
                    consequence: `Token requests for it are refused. ${KEPT}`,
                    remove: (audience) => projects.removeProjectAudience({ projectId, audience }),
                  }}
                  adding={{
                    label: 'New audience',
                    add: (audience) => projects.addProjectAudience({ projectId, audience }),
                  }}
                />
              </section>
              <MembersSection projectId={projectId} members={members} />
            </>
          )
        }
      </LoadedView>
    </>
  )
}

function ProjectActions({ project }: { readonly project: Project }) {
  const { projectId, name } = project
  const [open, setOpen] = useState<'rename' | 'delete'>()
  const close = () => setOpen(undefined)
  return (
    <>
      {mayWithProject('iam.project.write', projectId) && (
        <button type="button" class="button" onClick={() => setOpen('rename')}>
          Rename
        </button>
      )}
      {mayWithProject('iam.project.delete', projectId) && (
        <button type="button" class="button" onClick={() => setOpen('delete')}>
          Delete
        </button>
      )}
      {open === 'rename' && <RenameDialog project={project} onClose={close} />}
      {open === 'delete' && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          verb="Delete for good"
          isDangerous
          onClose={close}
          change={async () => {
            await projects.deleteProject({ projectId })
            goTo(['projects'])
          }}
        >
          <p>
            Its roles, custom scopes and audiences are deleted with it, and the roles are taken away from all users. A
            project that has service users is not deleted.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

function RenameDialog({ project, onClose }: { readonly project: Project; readonly onClose: () => void }) {
  const { projectId, name } = project
  const [newName, setNewName] = useState(name)
  return (
    <ConfirmDialog
      title={`Rename ${name}?`}
      verb="Rename"
      isDangerous
      isIncomplete={newName === '' || newName === name}
      onClose={onClose}
      change={() => projects.updateProject({ projectId, name: newName, updateMask: { paths: ['name'] } })}
    >
      <p>
        <strong>The client IDs of all its service users change at once.</strong> Clients that use the old ones get no
        tokens.
      </p>
      <ProjectNameField name={newName} onChange={setNewName} />
    </ConfirmDialog>
  )
}
