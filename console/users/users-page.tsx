/**
 * The service users: a page at a time, or those that a search finds. Search, project and page are in the address.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, linkTo, route } from '../navigation/route.ts'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Field } from '../parts/field.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { Pager } from '../parts/pager.tsx'
import { When } from '../parts/when.tsx'
import { allProjects, nameOfProject } from '../projects/project-names.ts'
import { mayWithProject } from '../session/rights.ts'
import { may } from '../session/session.ts'
import { CreateUserDialog } from './create-user-dialog.tsx'
import { INSTANCE_ROLES } from './instance-roles.ts'
import { UserState } from './user-state.tsx'

const PAGE_SIZE = 50

/** How long writing must pause before the search begins, in milliseconds. */
const PAUSE = 250

export function UsersPage() {
  const { query } = route.value
  const search = query.get('search')?.trim() ?? ''
  const projectId = query.get('project') ?? ''
  const pageToken = query.get('page') ?? ''
  const [isCreating, setIsCreating] = useState(false)
  const known = useLoaded('projects', allProjects)
  const loaded = useLoaded(`users ${search} ${projectId} ${pageToken}`, (options) =>
    serviceUsers.listServiceUsers({ projectId, search, pageToken, pageSize: PAGE_SIZE }, options),
  )
  const all = known.value ?? []
  return (
    <>
      <PageHeading title="Service users">
        {may('iam.user.write') && (
          <button
            type="button"
            class="button is-primary"
            disabled={known.value === undefined}
            onClick={() => setIsCreating(true)}
          >
            Create user
          </button>
        )}
      </PageHeading>
      <section class="card" aria-label="Service users">
        <div class="filters">
          <SearchField text={search} />
          <ProjectChoice projectId={projectId} projects={all} />
        </div>
        <div class="listing">
          <LoadedView loaded={loaded}>
            {({ serviceUsers: users, nextPageToken }) => (
              <>
                <UserTable users={users} projects={all} />
                <Pager pageToken={pageToken} nextPageToken={nextPageToken} />
              </>
            )}
          </LoadedView>
        </div>
      </section>
      {isCreating && known.value !== undefined && (
        <CreateUserDialog
          projects={all.filter((project) => mayWithProject('iam.user.write', project.projectId))}
          projectId={projectId}
          onClose={() => setIsCreating(false)}
        />
      )}
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

function ProjectChoice({ projectId, projects }: { readonly projectId: string; readonly projects: readonly Project[] }) {
  return (
    <Field label="Project">
      {(id) => (
        <select
          id={id}
          value={projectId}
          onChange={({ currentTarget }) => changeQuery({ project: currentTarget.value, page: '' })}
        >
          <option value="">All projects</option>
          {projects.map((project) => (
            <option key={project.projectId} value={project.projectId}>
              {project.name}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface UserTableProps {
  readonly users: readonly ServiceUser[]
  readonly projects: readonly Project[]
}

function UserTable({ users, projects }: UserTableProps) {
  const columns: Column<ServiceUser>[] = [
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
    { name: 'Roles', kind: 'text', cell: (user) => <RolesOf user={user} projects={projects} /> },
    { name: 'State', cell: (user) => <UserState user={user} /> },
    { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
  ]
  return (
    <DataTable
      caption="Service users"
      columns={columns}
      rows={users}
      keyOf={({ userId }) => userId}
      empty="No service user fits."
    />
  )
}

function RolesOf({ user, projects }: { readonly user: ServiceUser; readonly projects: readonly Project[] }) {
  const own = user.instanceRoles.map((role) => INSTANCE_ROLES[role])
  const granted = user.projectRoles.flatMap(({ projectId, roles }) => {
    const project = projectId === user.projectId ? '' : `${nameOfProject(projects, projectId)}: `
    return roles.map((role) => `${project}${role}`)
  })
  return <span>{[...own, ...granted].join(', ') || '–'}</span>
}
