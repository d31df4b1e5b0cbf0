/**
 * The projects, and their names by their ids.
 */
import type { CallOptions } from '@connectrpc/connect'
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { everyItemOf, projects } from '../api/clients.ts'
import { goTo, linkTo } from '../navigation/route.ts'
import { type Column, Listing } from '../parts/data-table.tsx'
import { ConfirmDialog, DialogButton } from '../parts/dialogs.tsx'
import { type Bound, TextField } from '../parts/fields.tsx'
import { PageHeading } from '../parts/page.tsx'
import { Copyable, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'

export function ProjectsPage() {
  return (
    <>
      <PageHeading title="Projects">
        {may('iam.project.write') && <DialogButton text="Create project" kind="primary" dialog={<CreateDialog />} />}
      </PageHeading>
      <p class="summary">A project is a group of services that accept the same tokens. Its id is their audience.</p>
      <section class="card" aria-label="Projects">
        <Listing
          caption="Projects"
          columns={COLUMNS}
          name="projects"
          read={(page, options) => projects.listProjects(page, options)}
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
    <ConfirmDialog title="Create a project" verb="Create project" change={change}>
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

/** All projects, by name. */
export function allProjects(options: CallOptions): Promise<Project[]> {
  return everyItemOf('projects', (page) => projects.listProjects(page, options))
}

/** The name of a project; its id if it is not known. */
export function nameOfProject(all: readonly Project[], projectId: string): string {
  return all.find((project) => project.projectId === projectId)?.name ?? projectId
}
