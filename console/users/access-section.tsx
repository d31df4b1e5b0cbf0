/**
 * What a user may do: roles over the instance and over projects, roles in projects, custom scopes.
 */
import { type Project, ProjectMemberRole } from '../../gen/iam/project/v2/project_pb.js'
import { InstanceRole, type ManagedProject, type ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { projects as projectService, serviceUsers } from '../api/clients.ts'
import { useLoaded } from '../live/loaded.ts'
import { CardSection } from '../parts/card-section.tsx'
import { Chips } from '../parts/chips.tsx'
import { nameOfProject } from '../projects/project-names.ts'
import { mayWithProject, mayWithUser } from '../session/rights.ts'
import { may } from '../session/session.ts'
import { GrantRoleForm } from './grant-role-form.tsx'
import { INSTANCE_ROLES } from './instance-roles.ts'

const PAGE = 1000
const ALL_ROLES = [
  InstanceRole.IAM_OWNER,
  InstanceRole.IAM_OWNER_VIEWER,
  InstanceRole.IAM_KEY_OPERATOR,
  InstanceRole.IAM_AUDITOR,
  InstanceRole.IAM_USER_ADMINISTRATOR,
]

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
  const memberNameOf = ({ projectId, role }: ManagedProject) =>
    `${nameOfProject(projects, projectId)}: ${ProjectMemberRole[role]}`
  const setRoles = (instanceRoles: InstanceRole[]) => serviceUsers.setInstanceRoles({ userId, instanceRoles })
  const roleNamed = (name: string) => ALL_ROLES.find((role) => INSTANCE_ROLES[role] === name)
  return (
    <CardSection id="access" title="Access">
      <div class="two-columns">
        <div>
          <h3>Roles over the instance</h3>
          <Chips
            label="Roles over the instance"
            empty="None: it may not call Keyturn's own API."
            items={user.instanceRoles.map((role) => INSTANCE_ROLES[role])}
            mayChange={may('iam.instance_role.write')}
            removing={{
              consequence: "Its calls of Keyturn's own API that need this role are refused at once.",
              remove: (name) => setRoles(user.instanceRoles.filter((role) => role !== roleNamed(name))),
            }}
            adding={{
              label: 'Add a role',
              choices: ALL_ROLES.filter((role) => !user.instanceRoles.includes(role)).map((role) => ({
                value: INSTANCE_ROLES[role],
                name: INSTANCE_ROLES[role],
              })),
              add: (name) =>
                setRoles([...user.instanceRoles, ...[roleNamed(name)].filter((role) => role !== undefined)]),
            }}
          />
        </div>
        <div>
          <h3>Roles in projects</h3>
          <Chips
            label="Roles in projects"
            empty="None."
            items={grants.map(nameOf)}
            mayChange={mayChange}
            removing={{
              consequence: 'New tokens do not have it. Tokens that have it keep it until they expire.',
              remove: async (name) => {
                const grant = grants.find((candidate) => nameOf(candidate) === name)
                if (grant !== undefined) await serviceUsers.revokeProjectRole({ userId, ...grant })
              },
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
            empty="None."
            items={user.scopes}
            mayChange={mayChange}
            removing={{
              consequence: 'Token requests with it are refused. Tokens that have it keep it until they expire.',
              remove: (scope) => serviceUsers.revokeScope({ userId, scope }),
            }}
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
            removing={{
              consequence: "Its calls of Keyturn's own API about this project are refused at once.",
              remove: async (name) => {
                const managed = user.managedProjects.find((candidate) => memberNameOf(candidate) === name)
                if (managed !== undefined)
                  await projectService.removeProjectMember({ userId, projectId: managed.projectId })
              },
            }}
            adding={{
              label: 'Make it the owner of a project',
              choices: projects
                .filter(({ projectId }) => mayWithProject('iam.project.member.write', projectId))
                .filter(({ projectId }) => !user.managedProjects.some((managed) => managed.projectId === projectId))
                .map(({ projectId, name }) => ({ value: projectId, name })),
              add: (projectId) =>
                projectService.setProjectMember({ projectId, userId, role: ProjectMemberRole.PROJECT_OWNER }),
            }}
          />
        </div>
      </div>
    </CardSection>
  )
}

function useScopeChoices(user: ServiceUser) {
  const { userId, projectId, scopes: granted } = user
  const loaded = useLoaded(`scopes ${projectId}`, async (options) =>
    mayWithUser('iam.user.write', user)
      ? await projectService.listProjectScopes({ projectId, pageSize: PAGE }, options)
      : { scopes: [] },
  )
  if (loaded.value === undefined) return undefined
  return {
    label: 'Add a scope',
    choices: loaded.value.scopes
      .filter((scope) => !granted.includes(scope))
      .map((scope) => ({ value: scope, name: scope })),
    add: (scope: string) => serviceUsers.grantScope({ userId, scope }),
  }
}
