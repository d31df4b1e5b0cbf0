/**
 * What a user may do: roles over the instance and over projects, roles in projects, custom scopes.
 */
import { type Project, ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole, type ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { projects as projectService, serviceUsers } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { type Adding, Chips } from '../parts/chips.tsx'
import { InlineForm } from '../parts/dialogs.tsx'
import { SelectField, useDraft } from '../parts/fields.tsx'
import { CardSection } from '../parts/page.tsx'
import { nameOfProject } from '../projects/projects-page.tsx'
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
  const setRole = async (role: InstanceRole, isHeld: boolean) => {
    // The API sets all roles at once, and another owner may have changed others since the page or its dialog was drawn.
    const { serviceUser = user } = await serviceUsers.getServiceUser({ userId })
    const others = serviceUser.instanceRoles.filter((other) => other !== role)
    await serviceUsers.setInstanceRoles({ userId, instanceRoles: isHeld ? [...others, role] : others })
  }
  const nameOf = (projectId: string, role: string | undefined) => `${nameOfProject(projects, projectId)}: ${role}`
  return (
    <CardSection title="Access">
      <div class="two-columns">
        <Chips
          label="Roles over the instance"
          hasHeading
          empty="None: it may not call Keyturn's own API."
          items={user.instanceRoles.map((role) => ({
            name: InstanceRole[role],
            remove: () => setRole(role, false),
          }))}
          mayChange={may('iam.instance_role.write')}
          consequence="Its calls of Keyturn's own API that need this role are refused at once."
          adding={{
            label: 'Add a role',
            choices: ALL_ROLES.filter((role) => !user.instanceRoles.includes(role)).map((role) => [
              String(role),
              InstanceRole[role],
            ]),
            add: (role) => setRole(Number(role), true),
          }}
        />
        <div>
          <Chips
            label="Roles in projects"
            hasHeading
            items={user.projectRoles.flatMap(({ projectId, roles }) =>
              roles.map((role) => ({
                name: nameOf(projectId, role),
                remove: () => serviceUsers.revokeProjectRole({ userId, projectId, role }),
              })),
            )}
            mayChange={mayChange}
            consequence="New tokens do not have it. Tokens that have it keep it until they expire."
          />
          {mayChange && (
            <GrantRoleForm
              user={user}
              projects={projects.filter(({ projectId }) => mayWithProject('iam.user.write', projectId))}
            />
          )}
        </div>
        <Chips
          label="Custom scopes"
          hasHeading
          items={user.scopes.map((scope) => ({
            name: scope,
            remove: () => serviceUsers.revokeScope({ userId, scope }),
          }))}
          mayChange={mayChange}
          consequence="Token requests with it are refused. Tokens that have it keep it until they expire."
          adding={useScopeChoices(user)}
        />
        <Chips
          label="Roles over projects"
          hasHeading
          empty="None: it manages no project."
          items={user.managedProjects.map(({ projectId, role }) => ({
            name: nameOf(projectId, ProjectMemberRole[role]),
            remove: () => projectService.removeProjectMember({ userId, projectId }),
          }))}
          mayChange={mayWithUser('iam.project.member.write', user)}
          consequence="Its calls of Keyturn's own API about this project are refused at once."
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
        required
        choices={[
          ['', others.length === 0 ? 'No other role' : 'Choose…'],
          ...others.map((name) => [name, name] as const),
        ]}
        {...field('role')}
      />
    </InlineForm>
  )
}
