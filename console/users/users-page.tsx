/**
 * The service users: a page at a time, or those that a search finds; and the dialog that creates one. Search, project and page are in the
 * address.
 */
import { useEffect, useRef } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole, type ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, goTo, linkTo, route } from '../navigation/route.ts'
import { type Column, Listing } from '../parts/data-table.tsx'
import { ConfirmDialog, DialogButton } from '../parts/dialogs.tsx'
import { CheckField, Field, SelectField, TextField, useDraft } from '../parts/fields.tsx'
import { PageHeading } from '../parts/page.tsx'
import { Copyable, When } from '../parts/values.tsx'
import { allProjects, nameOfProject } from '../projects/projects-page.tsx'
import { may, mayWithProject } from '../session/session.ts'

/** How long writing must pause before the search begins, in milliseconds. */
const PAUSE = 250

export function UsersPage() {
  const { query } = route.value
  const search = query.get('search')?.trim() ?? ''
  const projectId = query.get('project') ?? ''
  const known = useLoaded('projects', allProjects)
  const all = known.value ?? []
  return (
    <>
      <PageHeading title="Service users">
        {may('iam.user.write') && (
          <DialogButton
            text="Create user"
            kind="primary"
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
            name={`users ${search} ${projectId}`}
            read={(page, options) => serviceUsers.listServiceUsers({ projectId, search, ...page }, options)}
            rowsOf={(page) => page.serviceUsers}
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

interface CreateUserDialogProps {
  readonly projects: readonly Project[]
  /** The project that is chosen at first; empty: the first one. */
  readonly projectId: string
}

export function CreateUserDialog({ projects, projectId }: CreateUserDialogProps) {
  const chosen = projects.find((one) => one.projectId === projectId) ?? projects[0]
  const { values, field } = useDraft({ name: '', projectId: chosen?.projectId ?? '', boundTokensRequired: false })
  const change = async () => {
    const { serviceUser } = await serviceUsers.createServiceUser({ ...values, clientCredentialsEnabled: true })
    if (serviceUser !== undefined) goTo(['users', serviceUser.userId])
  }
  return (
    <ConfirmDialog title="Create a service user" verb="Create user" change={change}>
      <p>The account of a machine. It has no roles, and no secret until you generate one.</p>
      <TextField label="Name" required maxLength={200} {...field('name')} />
      <SelectField
        label="Project"
        required
        hint="It cannot be changed later. Its name is a part of the client ID."
        choices={projects.map((one) => [one.projectId, one.name] as const)}
        {...field('projectId')}
      />
      <CheckField {...field('boundTokensRequired')}>Only bound tokens: to a key (DPoP) or to a certificate</CheckField>
    </ConfirmDialog>
  )
}

/** Whether a user works, as a badge. */
export function UserState({ user }: { readonly user: ServiceUser }) {
  if (!user.enabled) return <span class="badge is-danger">disabled</span>
  if (!user.clientCredentialsEnabled) return <span class="badge">gets no tokens</span>
  return <span class="badge is-success">enabled</span>
}
