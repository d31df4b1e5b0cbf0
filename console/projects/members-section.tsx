/**
 * The users with a role over a project, which manage it.
 */
import { type ProjectMember, ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { projects, serviceUsers } from '../api/clients.ts'
import { shortened } from '../format/text.ts'
import { useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { type Column, DataTable, removal } from '../parts/data-table.tsx'
import { InlineForm } from '../parts/dialogs.tsx'
import { SelectField, useDraft } from '../parts/fields.tsx'
import { CardSection } from '../parts/page.tsx'
import { mayEverywhere, mayWithProject } from '../session/session.ts'

const ROLES = [ProjectMemberRole.PROJECT_OWNER, ProjectMemberRole.PROJECT_OWNER_VIEWER] as const

/** So many users are offered. Any user gets a role on its own page, too. */
const OFFERED = 1000

interface MembersSectionProps {
  readonly projectId: string
  readonly members: readonly ProjectMember[]
}

export function MembersSection({ projectId, members }: MembersSectionProps) {
  const mayChange = mayWithProject('iam.project.member.write', projectId)
  return (
    <CardSection title="Members">
      <p class="hint">They manage the project, or see it, by Keyturn's own API and in the console.</p>
      <DataTable
        caption="Members"
        columns={COLUMNS}
        rows={members}
        keyOf={({ userId }) => userId}
        empty="None: only users with a role over the instance manage it."
        actionsOf={
          mayChange &&
          (({ userId, name }) => [
            removal({
              verb: 'Remove',
              label: `Take the role from ${name}`,
              title: `Take the role over the project from ${name}?`,
              consequence: "Its calls of Keyturn's own API about this project are refused at once.",
              remove: () => projects.removeProjectMember({ projectId, userId }),
            }),
          ])
        }
      />
      {mayChange && <AddMemberForm projectId={projectId} members={members} />}
    </CardSection>
  )
}

const COLUMNS: readonly Column<ProjectMember>[] = [
  { name: 'User', kind: 'main', cell: memberName },
  { name: 'Role', cell: ({ role }) => ProjectMemberRole[role] },
]

/** A member may belong to a project that the signed-in user may not see. */
function memberName({ userId, name }: ProjectMember) {
  if (mayEverywhere('iam.user.read')) return <a href={linkTo(['users', userId])}>{name}</a>
  return (
    <>
      {name} <code title={userId}>{shortened(userId)}</code>
    </>
  )
}

function AddMemberForm({ projectId, members }: MembersSectionProps) {
  const { values, field, set } = useDraft({ userId: '', role: ROLES[0] as ProjectMemberRole })
  const loaded = useLoaded(`users of ${projectId}`, (options) =>
    serviceUsers.listServiceUsers({ projectId, pageSize: OFFERED }, options),
  )
  const users = (loaded.value?.serviceUsers ?? []).filter(
    (user) => !members.some((member) => member.userId === user.userId),
  )
  if (users.length === 0) return null
  return (
    <InlineForm
      verb="Add member"
      change={async () => {
        await projects.setProjectMember({ projectId, ...values })
        set({ userId: '' })
      }}
    >
      <SelectField
        label="User of the project"
        required
        choices={[
          ['', 'Choose…'],
          ...users.map((user) => [user.userId, `${user.name} (${shortened(user.userId)})`] as const),
        ]}
        {...field('userId')}
      />
      <SelectField
        label="Role over the project"
        choices={ROLES.map((value) => [value, ProjectMemberRole[value]] as const)}
        {...field('role')}
      />
    </InlineForm>
  )
}
