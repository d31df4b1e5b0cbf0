/**
 * What a user may do: roles over the instance and over projects, roles in projects, custom scopes.
 */
import { type Project, ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole, type ManagedProject, type ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { projects as projectService, serviceUsers } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { type Adding, Chips } from '../parts/chips.tsx'
import { InlineForm } from '../parts/dialogs.tsx'
import { SelectField, useDraft } from '../parts/fields.tsx'
import { CardSection } from '../parts/page.tsx'
import { nameOfProject } from '../projects/project-names.ts'
import { may, mayWithProject, mayWithUser } from '../session/session.ts'

const PAGE = 1000
const ALL_ROLES = Object.values(InstanceRole).filter((role) => typeof role === 'number' && role !== 0) as InstanceRole[]

interface AccessSectionProps {
  readonly user: ServiceUser
  readonly projects: readonly Project[]
}

export function AccessSection({ user, projects }: AccessSectionProps) {
  const { userId } = user
  const mayChange = mayWithUser('iam.user.write', user)
  const grants = user.projectRoles.flatMap(({ projectId, roles }) => roles.map((role) => ({ projectId, role })))
  const nameOf = ({ projectId, role }: { projectId: string; role: string }) =>
    `${nameOfProject(projects, projectId)}: ${role}`
  const memberNameOf = ({ projectId, role }: ManagedProject) => nameOf({ projectId, role: ProjectMemberRole[role] })
  const setRoles = (instanceRoles: InstanceRole[]) => serviceUsers.setInstanceRoles({ userId, instanceRoles })
  const roleNamed = (name: string) => ALL_ROLES.filter((role) => InstanceRole[role] === name)
  return (
    <CardSection id="access" title="Access">
      <div class="two-columns">
        <div>
          <h3>Roles over the instance</h3>
          <Chips
            label="Roles over the instance"
            empty="None: it may not call Keyturn's own API."
            items={user.instanceRoles.map((role) => InstanceRole[role])}
            mayChange={may('iam.instance_role.write')}
            consequence="Its calls of Keyturn's own API that need this role are refused at once."
            remove={(name) => setRoles(user.instanceRoles.filter((role) => !roleNamed(name).includes(role)))}
            adding={{
              label: 'Add a role',
              choices: ALL_ROLES.filter((role) => !user.instanceRoles.includes(role))
                .map((role) => InstanceRole[role])
                .map((name) => [name, name]),
              add: (name) => setRoles([...user.instanceRoles, ...roleNamed(name)]),
            }}
          />
        </div>
        <div>
          <h3>Roles in projects</h3>
          <Chips
            label="Roles in projects"
            items={grants.map(nameOf)}
            mayChange={mayChange}
            consequence="New tokens do not have it. Tokens that have it keep it until they expire."
            remove={async (name) => {
              const grant = grants.find((candidate) => nameOf(candidate) === name)
              if (grant !== undefined) await serviceUsers.revokeProjectRole({ userId, ...grant })
            }}
          />
          {mayChange && (
            <GrantRoleForm
              user={user}
              projects={projects.filter(({ projectId }) => mayWithProject('iam.user.write', projectId))}
            />
          )}
        </div>
        <div>
          <h3>Custom scopes</h3>
          <Chips
            label="Custom scopes"
            items={user.scopes}
            mayChange={mayChange}
            consequence="Token requests with it are refused. Tokens that have it keep it until they expire."
            remove={(scope) => serviceUsers.revokeScope({ userId, scope })}
            adding={useScopeChoices(user)}
          />
        </div>
        <div>
          <h3>Roles over projects</h3>
          <Chips
            label="Roles over projects"
            empty="None: it manages no project."
            items={user.managedProjects.map(memberNameOf)}
            mayChange={mayWithUser('iam.project.member.write', user)}
            consequence="Its calls of Keyturn's own API about this project are refused at once."
            remove={async (name) => {
              const managed = user.managedProjects.find((candidate) => memberNameOf(candidate) === name)
              if (managed === undefined) return
              await projectService.removeProjectMember({ userId, projectId: managed.projectId })
            }}
            adding={{
              label: 'Make it the owner of a project',
              choices: projects
                .filter(({ projectId }) => mayWithProject('iam.project.member.write', projectId))
                .filter(({ projectId }) => !user.managedProjects.some((managed) => managed.projectId === projectId))
                .map(({ projectId, name }) => [projectId, name]),
              add: (projectId) =>
                projectService.setProjectMember({ projectId, userId, role: ProjectMemberRole.PROJECT_OWNER }),
            }}
          />
        </div>
      </div>
    </CardSection>
  )
}

function useScopeChoices(user: ServiceUser): Adding | undefined {
  const { userId, projectId, scopes: granted } = user
  const { value } = useLoaded(`scopes ${projectId}`, async (options) =>
    mayWithUser('iam.user.write', user)
      ? await projectService.listProjectScopes({ projectId, pageSize: PAGE }, options)
      : { scopes: [] },
  )
  if (value === undefined) return undefined
  return {
    label: 'Add a scope',
    choices: value.scopes.filter((scope) => !granted.includes(scope)).map((scope) => [scope, scope]),
    add: (scope) => serviceUsers.grantScope({ userId, scope }),
  }
}

/** Grants a role of a project: the user's own one, or another. */
function GrantRoleForm({ user, projects }: AccessSectionProps) {
  const { userId } = user
  const { values, field, set } = useDraft({ projectId: user.projectId, role: '' })
  const { projectId, role } = values
  const loaded = useLoaded(`roles ${projectId}`, (options) =>
    projectService.listProjectRoles({ projectId, pageSize: PAGE }, options),
  )
  const granted = user.projectRoles.find((grant) => grant.projectId === projectId)?.roles ?? []
  const others = loaded.value?.roles.filter((candidate) => !granted.includes(candidate)) ?? []
  return (
    <InlineForm
      isIncomplete={role === ''}
      change={async () => {
        await serviceUsers.grantProjectRole({ userId, projectId, role })
        set({ role: '' })
      }}
    >
      <SelectField
        label="Project"
        value={projectId}
        choices={projects.map((project) => [project.projectId, project.name] as const)}
        onChange={(chosen) => set({ projectId: chosen, role: '' })}
      />
      <SelectField
        label="Role"
        choices={[
          ['', others.length === 0 ? 'No other role' : 'Choose…'],
          ...others.map((name) => [name, name] as const),
        ]}
        {...field('role')}
      />
    </InlineForm>
  )
}
