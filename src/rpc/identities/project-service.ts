/** `iam.project.v2.ProjectService`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { ProjectMemberSchema, ProjectSchema } from '../../../gen/iam/project/v2/project_pb.js'
import type { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import type { Projects } from '../../app/identities/projects.ts'
import type { ServiceUsers } from '../../app/identities/service-users.ts'
import { normalUri } from '../../domain/identifiers.ts'
import type { Project, ProjectMember } from '../../domain/identities/project.ts'
import { actorOf } from '../authorization/actor.ts'
import { answering, done, listing } from '../authorization/methods.ts'
import { maskedBy, required } from '../messages/fields.ts'
import { byName, listFromMemory, listPage } from '../messages/paging.ts'
import { invalidField } from '../messages/violations.ts'
import { fromMemberRole, toMemberRole } from './service-user-mapping.ts'

const PROJECTS = byName((project: Project) => project.name)
const MEMBERS = byName(({ userId }: ProjectMember) => userId)

export function projectService(
  projects: Projects,
  users: Pick<ServiceUsers, 'setManagedProject'>,
): ServiceImpl<typeof ProjectService> {
  const answer = answering((project: Project) => ({ project: fromProject(project) }))
  const toAudience = (text: string) => {
    // A URI that no URL parser accepts could never be requested.
    if (!URL.canParse(text)) throw invalidField('audience', 'must be an absolute URI')
    return normalUri(text)
  }
  return {
    createProject: answer((actor, { name }) => projects.create(actor, name)),
    getProject: answer((actor, { projectId }) => projects.get(actor, projectId)),
    listProjects: listing('projects', fromProject, (actor, req) =>
      listPage(req, PROJECTS, (page) => projects.list(actor, page)),
    ),
    updateProject: answer((actor, req) => {
      const changes = maskedBy<Partial<Pick<Project, 'name' | 'rolesClaim'>>>(req.updateMask, {
        name: () => ({ name: required(req.name, 'name') }),
        roles_claim: () => ({ rolesClaim: req.rolesClaim }),
      })
      return projects.update(actor, req.projectId, changes)
    }),
    deleteProject: done((actor, { projectId }) => projects.delete(actor, projectId)),

    addProjectRole: done((actor, { projectId, role }) => projects.add(actor, projectId, { list: 'roles', name: role })),
    listProjectRoles: listing('roles', String, async (actor, req) =>
      listFromMemory(req, (await projects.get(actor, req.projectId)).roles, String),
    ),
    removeProjectRole: done((actor, { projectId, role }) =>
      projects.remove(actor, projectId, { list: 'roles', name: role }),
    ),

    addProjectScope: done((actor, { projectId, scope }) =>
      projects.add(actor, projectId, { list: 'scopes', name: scope }),
    ),
    listProjectScopes: listing('scopes', String, async (actor, req) =>
      listFromMemory(req, (await projects.get(actor, req.projectId)).scopes, String),
    ),
    removeProjectScope: done((actor, { projectId, scope }) =>
      projects.remove(actor, projectId, { list: 'scopes', name: scope }),
    ),

    addProjectAudience: done(async (actor, { projectId, audience }) =>
      projects.add(actor, projectId, { list: 'audiences', name: toAudience(audience) }),
    ),
    listProjectAudiences: listing('audiences', String, async (actor, req) =>
      listFromMemory(req, (await projects.get(actor, req.projectId)).audiences, String),
    ),
    removeProjectAudience: done((actor, { projectId, audience }) =>
      projects.remove(actor, projectId, { list: 'audiences', name: normalUri(audience) }),
    ),

    async setProjectMember(req, context) {
      const { userId, projectId } = req
      const role = toMemberRole(req.role)
      const { name } = await users.setManagedProject(actorOf(context), userId, projectId, role)
      return { member: fromMember({ userId, name, role }) }
    },
    listProjectMembers: listing('members', fromMember, (actor, req) =>
      listPage(req, MEMBERS, (page) => projects.listMembers(actor, req.projectId, page)),
    ),
    removeProjectMember: done((actor, { userId, projectId }) =>
      users.setManagedProject(actor, userId, projectId, null),
    ),
  }
}

/** A project on the wire. Its roles, scopes and audiences have lists of their own. */
function fromProject({ projectId, name, rolesClaim, createdAt }: Project): MessageInitShape<typeof ProjectSchema> {
  return { projectId, name, rolesClaim, creationDate: timestampFromDate(createdAt) }
}

function fromMember({ userId, name, role }: ProjectMember): MessageInitShape<typeof ProjectMemberSchema> {
  return { userId, name, role: fromMemberRole(role) }
}
