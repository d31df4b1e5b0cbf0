/**
 * The first service users of a project, and how to create one in it.
 */
import { useState } from 'preact/hooks'
import type { Project } from '../../gen/iam/project/v2/project_pb.js'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { millisecondsOf } from '../format/moment.ts'
import { linkTo } from '../navigation/route.ts'
import { CardSection } from '../parts/card-section.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { When } from '../parts/when.tsx'
import { mayWithProject } from '../session/rights.ts'
import { CreateUserDialog } from '../users/create-user-dialog.tsx'
import { UserState } from '../users/user-state.tsx'

const COLUMNS: readonly Column<ServiceUser>[] = [
  { name: 'Name', kind: 'main', cell: ({ userId, name }) => <a href={linkTo(['users', userId])}>{name}</a> },
  { name: 'State', cell: (user) => <UserState user={user} /> },
  { name: 'Created', cell: ({ creationDate }) => <When at={millisecondsOf(creationDate)} /> },
]

interface ProjectUsersSectionProps {
  readonly project: Project
  readonly users: readonly ServiceUser[]
  /** Whether there are more than these. */
  readonly isCut: boolean
}

export function ProjectUsersSection({ project, users, isCut }: ProjectUsersSectionProps) {
  const [isCreating, setIsCreating] = useState(false)
  const { projectId } = project
  return (
    <CardSection
      id="users"
      title="Service users"
      action={
        mayWithProject('iam.user.write', projectId) && { verb: 'Create user', onClick: () => setIsCreating(true) }
      }
    >
      <DataTable
        caption="Service users"
        columns={COLUMNS}
        rows={users}
        keyOf={({ userId }) => userId}
        empty="None. A service user is the account of a machine, which requests tokens for the services of the project."
      />
      {isCut && (
        <p>
          <a href={linkTo(['users'], { project: projectId })}>All service users of the project</a>
        </p>
      )}
      {isCreating && (
        <CreateUserDialog projects={[project]} projectId={projectId} onClose={() => setIsCreating(false)} />
      )}
    </CardSection>
  )
}
