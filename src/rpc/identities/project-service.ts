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
  return {
    async createProject(req, context) {
      return { project: fromProject(await projects.create(actorOf(context), req.name)) }
    },

    async getProject(req, context) {
      return { project: fromProject(await projects.get(actorOf(context), req.projectId)) }
    },

    async listProjects(req, context) {
      const { items, nextPageToken } = await listPage(req, PROJECTS, (page) => projects.list(actorOf(context), page))
      return { projects: items.map(fromProject), nextPageToken }
    },

    async updateProject(req, context) {
      const changes = maskedBy<Partial<Pick<Project, 'name' | 'rolesClaim'>>>(req.updateMask, {
        name: () => ({ name: required(req.name, 'name') }),
        roles_claim: () => ({ rolesClaim: req.rolesClaim }),
      })
      return { project: fromProject(await projects.update(actorOf(context), req.projectId, changes)) }
    },

    async deleteProject(req, context) {
      await projects.delete(actorOf(context), req.projectId)
      return {}
    },

    async addProjectRole(req, context) {
      await projects.add(actorOf(context), req.projectId, { list: 'roles', name: req.role })
      return {}
    },

    async listProjectRoles(req, context) {
      const { roles } = await projects.get(actorOf(context), req.projectId)
      const { items, nextPageToken } = await listFromMemory(req, roles, String)
      return { roles: [...items], nextPageToken }
    },

    async removeProjectRole(req, context) {
      await projects.remove(actorOf(context), req.projectId, { list: 'roles', name: req.role })
      return {}
    },

    async addProjectScope(req, context) {
      await projects.add(actorOf(context), req.projectId, { list: 'scopes', name: req.scope })
      return {}
    },

    async listProjectScopes(req, context) {
      const { scopes } = await projects.get(actorOf(context), req.projectId)
      const { items, nextPageToken } = await listFromMemory(req, scopes, String)
      return { scopes: [...items], nextPageToken }
    },

    async removeProjectScope(req, context) {
      await projects.remove(actorOf(context), req.projectId, { list: 'scopes', name: req.scope })
      return {}
    },

    async addProjectAudience(req, context) {
      // A URI that no URL parser accepts could never be requested.
      if (!URL.canParse(req.audience)) throw invalidField('audience', 'must be an absolute URI')
      await projects.add(actorOf(context), req.projectId, { list: 'audiences', name: normalUri(req.audience) })
      return {}
    },

    async listProjectAudiences(req, context) {
      const { audiences } = await projects.get(actorOf(context), req.projectId)
      const { items, nextPageToken } = await listFromMemory(req, audiences, String)
      return { audiences: [...items], nextPageToken }
    },

    async removeProjectAudience(req, context) {
      await projects.remove(actorOf(context), req.projectId, { list: 'audiences', name: normalUri(req.audience) })
      return {}
    },

    async setProjectMember(req, context) {
      const { userId, projectId } = req
      const role = toMemberRole(req.role)
      const { name } = await users.setManagedProject(actorOf(context), userId, { projectId, role })
      return { member: fromMember({ userId, name, role }) }
    },

    async listProjectMembers(req, context) {
      const { items, nextPageToken } = await listPage(req, MEMBERS, (page) =>
        projects.listMembers(actorOf(context), req.projectId, page),
      )
      return { members: items.map(fromMember), nextPageToken }
    },

    async removeProjectMember(req, context) {
      const { userId, projectId } = req
      await users.setManagedProject(actorOf(context), userId, { projectId, role: null })
      return {}
    },
  }
}

/** A project on the wire. Its roles, scopes and audiences have lists of their own. */
function fromProject({ projectId, name, rolesClaim, createdAt }: Project): MessageInitShape<typeof ProjectSchema> {
  return { projectId, name, rolesClaim, creationDate: timestampFromDate(createdAt) }
}

function fromMember({ userId, name, role }: ProjectMember): MessageInitShape<typeof ProjectMemberSchema> {
  return { userId, name, role: fromMemberRole(role) }
}
