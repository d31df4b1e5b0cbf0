/**
 * The users with a role over a project, which manage it.
 */
import { useState } from 'preact/hooks'
import { type ProjectMember, ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { projects, serviceUsers } from '../api/clients.ts'
import { shortened } from '../format/shortened.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { useAction } from '../parts/action.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { actionColumn, type Column, DataTable } from '../parts/data-table.tsx'
import { Field, SelectField } from '../parts/field.tsx'
import { FailureNotice } from '../parts/notice.tsx'
import { mayEverywhere, mayWithProject } from '../session/rights.ts'

const ROLES = [ProjectMemberRole.PROJECT_OWNER, ProjectMemberRole.PROJECT_OWNER_VIEWER] as const

/** So many users are offered. Any user gets a role on its own page, too. */
const OFFERED = 1000

interface MembersSectionProps {
  readonly projectId: string
  readonly members: readonly ProjectMember[]
}

export function MembersSection({ projectId, members }: MembersSectionProps) {
  const [removed, setRemoved] = useState<ProjectMember>()
  const mayChange = mayWithProject('iam.project.member.write', projectId)
  const columns: Column<ProjectMember>[] = [
    { name: 'User', kind: 'main', cell: (member) => <MemberName member={member} /> },
    { name: 'Role', cell: ({ role }) => ProjectMemberRole[role] },
    actionColumn<ProjectMember>('Remove', {
      isShown: mayChange,
      labelOf: (member) => `Take the role from ${member.name}`,
      onClick: (member) => setRemoved(member),
    }),
  ]
  return (
    <section class="card" aria-labelledby="members-title">
      <h2 id="members-title">Members</h2>
      <p class="hint">They manage the project, or see it, by Keyturn's own API and in the console.</p>
      <DataTable
        caption="Members"
        columns={columns}
        rows={members}
        keyOf={({ userId }) => userId}
        empty="None: only users with a role over the instance manage it."
      />
      {mayChange && <AddMemberForm projectId={projectId} members={members} />}
      {removed !== undefined && (
        <ConfirmDialog
          title={`Take the role over the project from ${removed.name}?`}
          verb="Remove"
          isDangerous
          onClose={() => setRemoved(undefined)}
          change={() => projects.removeProjectMember({ projectId, userId: removed.userId })}
        >
          <p>Its calls of Keyturn's own API about this project are refused at once.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

/** A member may belong to a project that the signed-in user may not see. */
function MemberName({ member: { userId, name } }: { readonly member: ProjectMember }) {
  if (mayEverywhere('iam.user.read')) return <a href={linkTo(['users', userId])}>{name}</a>
  return (
    <>
      {name} <code title={userId}>{shortened(userId)}</code>
    </>
  )
}

function AddMemberForm({ projectId, members }: MembersSectionProps) {
  const [userId, setUserId] = useState('')
  const [role, setRole] = useState<ProjectMemberRole>(ROLES[0])
  const loaded = useLoaded(`users of ${projectId}`, (options) =>
    serviceUsers.listServiceUsers({ projectId, pageSize: OFFERED }, options),
  )
  const choices = (loaded.value?.serviceUsers ?? []).filter(
    (user) => !members.some((member) => member.userId === user.userId),
  )
  const action = useAction(async () => {
    await projects.setProjectMember({ projectId, userId, role })
    setUserId('')
  })
  if (choices.length === 0) return null
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void action.run()
      }}
    >
      <div class="inline-form">
        <Field label="User of the project">
          {(id) => (
            <select id={id} value={userId} onChange={({ currentTarget }) => setUserId(currentTarget.value)}>
              <option value="">Choose…</option>
              {choices.map((user) => (
                <option key={user.userId} value={user.userId}>
                  {user.name} ({shortened(user.userId)})
                </option>
              ))}
            </select>
          )}
        </Field>
        <SelectField
          label="Role over the project"
          value={role}
          choices={ROLES.map((value) => [value, ProjectMemberRole[value]] as const)}
          onChange={setRole}
        />
        <button type="submit" class="button" disabled={userId === '' || action.isRunning}>
          Add member
        </button>
      </div>
      <FailureNotice failure={action.failure} />
    </form>
  )
}
