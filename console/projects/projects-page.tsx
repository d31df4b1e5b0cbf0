/**
 * The projects.
 */
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { projects } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { goTo, linkTo, route } from '../navigation/route.ts'
import { ConfirmDialog, DialogButton } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, Listing, PAGE_SIZE } from '../parts/data-table.tsx'
import type { Bound } from '../parts/draft.ts'
import { TextField } from '../parts/fields.tsx'
import { PageHeading } from '../parts/page.tsx'
import { When } from '../parts/when.tsx'
import { may } from '../session/session.ts'

export function ProjectsPage() {
  const pageToken = route.value.query.get('page') ?? ''
  const loaded = useLoaded(`projects ${pageToken}`, async (options) => {
    const { projects: rows, nextPageToken } = await projects.listProjects({ pageSize: PAGE_SIZE, pageToken }, options)
    return { rows, nextPageToken }
  })
  return (
    <>
      <PageHeading title="Projects">
        {may('iam.project.write') && <DialogButton verb="Create project" isPrimary dialog={<CreateDialog />} />}
      </PageHeading>
      <p class="summary">A project is a group of services that accept the same tokens. Its id is their audience.</p>
      <section class="card" aria-label="Projects">
        <Listing
          caption="Projects"
          columns={COLUMNS}
          loaded={loaded}
          keyOf={({ projectId }) => projectId}
          empty="There are no projects."
        />
      </section>
    </>
  )
}

const COLUMNS: readonly Column<Project>[] = [
  { name: 'Name', kind: 'main', cell: ({ projectId, name }) => <a href={linkTo(['projects', projectId])}>{name}</a> },
  { name: 'Project ID', kind: 'text', cell: ({ projectId }) => <Copyable text={projectId} what="the project id" /> },
  { name: 'Created', cell: ({ creationDate }) => <When at={creationDate} /> },
]

function CreateDialog() {
  const [name, setName] = useState('')
  const change = async () => {
    const { project } = await projects.createProject({ name })
    if (project !== undefined) goTo(['projects', project.projectId])
  }
  return (
    <ConfirmDialog title="Create a project" verb="Create project" isIncomplete={name === ''} change={change}>
      <ProjectNameField value={name} onChange={setName} />
    </ConfirmDialog>
  )
}

export function ProjectNameField(field: Bound<string>) {
  return (
    <TextField
      label="Name"
      hint="Small letters, digits and hyphens. It is a part of the client IDs of its users."
      required
      spellcheck={false}
      {...field}
    />
  )
}
