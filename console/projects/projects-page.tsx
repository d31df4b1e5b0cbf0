/**
 * The projects.
 */
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import { projects } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { useLoaded } from '../live/loaded.ts'
import { goTo, linkTo, route } from '../navigation/route.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { Pager } from '../parts/pager.tsx'
import { When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import { ProjectNameField } from './project-name-field.tsx'

const PAGE_SIZE = 50

export function ProjectsPage() {
  const [isCreating, setIsCreating] = useState(false)
  const pageToken = route.value.query.get('page') ?? ''
  const loaded = useLoaded(`projects ${pageToken}`, (options) =>
    projects.listProjects({ pageSize: PAGE_SIZE, pageToken }, options),
  )
  return (
    <>
      <PageHeading title="Projects">
        {may('iam.project.write') && (
          <button type="button" class="button is-primary" onClick={() => setIsCreating(true)}>
            Create project
          </button>
        )}
      </PageHeading>
      <p class="summary">A project is a group of services that accept the same tokens. Its id is their audience.</p>
      <section class="card" aria-label="Projects">
        <LoadedView loaded={loaded}>
          {({ projects: items, nextPageToken }) => (
            <>
              <DataTable
                caption="Projects"
                columns={COLUMNS}
                rows={items}
                keyOf={({ projectId }) => projectId}
                empty="There are no projects."
              />
              <Pager pageToken={pageToken} nextPageToken={nextPageToken} />
            </>
          )}
        </LoadedView>
      </section>
      {isCreating && <CreateDialog onClose={() => setIsCreating(false)} />}
    </>
  )
}

const COLUMNS: readonly Column<Project>[] = [
  { name: 'Name', kind: 'main', cell: ({ projectId, name }) => <a href={linkTo(['projects', projectId])}>{name}</a> },
  { name: 'Project ID', kind: 'text', cell: ({ projectId }) => <Copyable text={projectId} what="the project id" /> },
  { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
]

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const change = async () => {
    const { project } = await projects.createProject({ name })
    if (project !== undefined) goTo(['projects', project.projectId])
  }
  return (
    <ConfirmDialog
      title="Create a project"
      verb="Create project"
      isIncomplete={name === ''}
      onClose={onClose}
      change={change}
    >
      <ProjectNameField name={name} onChange={setName} />
    </ConfirmDialog>
  )
}
