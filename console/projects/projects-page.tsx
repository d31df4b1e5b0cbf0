/**
 * The projects.
 */
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { projects } from '../api/clients.ts'
import { goTo, linkTo } from '../navigation/route.ts'
import { type Column, Listing, useListing } from '../parts/data-table.tsx'
import { ConfirmDialog, DialogButton } from '../parts/dialogs.tsx'
import { type Bound, TextField } from '../parts/fields.tsx'
import { PageHeading } from '../parts/page.tsx'
import { Copyable, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'

export function ProjectsPage() {
  const loaded = useListing('projects', (page, options) => projects.listProjects(page, options))
  return (
    <>
      <PageHeading title="Projects">
        <DialogButton verb="Create project" isPrimary isOffered={may('iam.project.write')} dialog={<CreateDialog />} />
      </PageHeading>
      <p class="summary">A project is a group of services that accept the same tokens. Its id is their audience.</p>
      <section class="card" aria-label="Projects">
        <Listing
          caption="Projects"
          columns={COLUMNS}
          loaded={loaded}
          rowsOf={(page) => page.projects}
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
