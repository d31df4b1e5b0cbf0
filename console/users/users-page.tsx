/**
 * The service users: a page at a time, or those that a search finds. Search, project and page are in the address.
 */
import { useEffect, useRef } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole, type ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, linkTo, route } from '../navigation/route.ts'
import { DialogButton } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, Listing, PAGE_SIZE } from '../parts/data-table.tsx'
import { Field, SelectField } from '../parts/fields.tsx'
import { PageHeading } from '../parts/page.tsx'
import { When } from '../parts/when.tsx'
import { allProjects, nameOfProject } from '../projects/project-names.ts'
import { mayWithProject } from '../session/rights.ts'
import { may } from '../session/session.ts'
import { CreateUserDialog } from './create-user-dialog.tsx'
import { UserState } from './user-state.tsx'

/** How long writing must pause before the search begins, in milliseconds. */
const PAUSE = 250

export function UsersPage() {
  const { query } = route.value
  const search = query.get('search')?.trim() ?? ''
  const projectId = query.get('project') ?? ''
  const pageToken = query.get('page') ?? ''
  const known = useLoaded('projects', allProjects)
  const loaded = useLoaded(`users ${search} ${projectId} ${pageToken}`, async (options) => {
    const request = { projectId, search, pageToken, pageSize: PAGE_SIZE }
    const { serviceUsers: rows, nextPageToken } = await serviceUsers.listServiceUsers(request, options)
    return { rows, nextPageToken }
  })
  const all = known.value ?? []
  return (
    <>
      <PageHeading title="Service users">
        {may('iam.user.write') && (
          <DialogButton
            verb="Create user"
            isPrimary
            disabled={known.value === undefined}
            dialog={
              <CreateUserDialog
                projects={all.filter((project) => mayWithProject('iam.user.write', project.projectId))}
                projectId={projectId}
              />
            }
          />
        )}
      </PageHeading>
      <section class="card" aria-label="Service users">
        <div class="filters">
          <SearchField text={search} />
          <SelectField
            label="Project"
            value={projectId}
            choices={[['', 'All projects'], ...all.map((each) => [each.projectId, each.name] as const)]}
            onChange={(project) => changeQuery({ project, page: '' })}
          />
        </div>
        <div class="listing">
          <Listing
            caption="Service users"
            columns={columnsWith(all)}
            loaded={loaded}
            keyOf={({ userId }) => userId}
            empty="No service user fits."
          />
        </div>
      </section>
    </>
  )
}

function SearchField({ text }: { readonly text: string }) {
  const pause = useRef<ReturnType<typeof setTimeout>>(undefined)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => () => clearTimeout(pause.current), [])
  // The address may change by a link or a step back. What is being written is newer than it.
  useEffect(() => {
    if (pause.current === undefined && input.current !== null) input.current.value = text
  }, [text])
  const search = (value: string) => {
    clearTimeout(pause.current)
    pause.current = setTimeout(() => {
      pause.current = undefined
      changeQuery({ search: value, page: '' })
    }, PAUSE)
  }
  return (
    <Field label="Search by name or client ID">
      {(id) => (
        <input
          id={id}
          ref={input}
          type="search"
          maxLength={200}
          defaultValue={text}
          onInput={({ currentTarget }) => search(currentTarget.value)}
        />
      )}
    </Field>
  )
}

function columnsWith(projects: readonly Project[]): readonly Column<ServiceUser>[] {
  return [
    {
      name: 'Name',
      kind: 'main',
      cell: ({ userId, name, clientId }) => (
        <div>
          <a href={linkTo(['users', userId])}>{name}</a>
          <br />
          <span class="quiet">
            <Copyable text={clientId} what={`client ID of ${name}`} />
          </span>
        </div>
      ),
    },
    { name: 'Project', kind: 'text', cell: ({ projectId }) => nameOfProject(projects, projectId) },
    { name: 'Roles', kind: 'text', cell: (user) => rolesOf(user, projects) },
    { name: 'State', cell: (user) => <UserState user={user} /> },
    { name: 'Created', cell: ({ creationDate }) => <When at={creationDate} /> },
  ]
}

function rolesOf(user: ServiceUser, projects: readonly Project[]) {
  const own = user.instanceRoles.map((role) => InstanceRole[role])
  const granted = user.projectRoles.flatMap(({ projectId, roles }) => {
    const project = projectId === user.projectId ? '' : `${nameOfProject(projects, projectId)}: `
    return roles.map((role) => `${project}${role}`)
  })
  return <span>{[...own, ...granted].join(', ') || '–'}</span>
}
