/**
 * `keyturn projects`: projects, their roles, custom scopes, audiences and members.
 */
import { Option } from 'commander'
import { ProjectMemberRole } from '../../../gen/iam/project/v2/project_pb.js'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import { call, group, list } from '../api-command.ts'
import { enumNames } from '../enum-names.ts'
import { ageOf } from '../table.ts'
import { PROJECT, USER } from './references.ts'

/** The roles over a project. */
export const MEMBER_ROLES = enumNames(ProjectMemberRole)

const { method: Methods } = ProjectService

const ROLES = group('roles', 'Roles of a project, which its services find in tokens.', [
  list({
    name: 'list',
    description: 'List the roles of a project by name.',
    takes: { projectId: PROJECT },
    method: Methods.listProjectRoles,
    items: 'roles',
    heading: ['ROLE'],
    row: (role) => role,
  }),
  call({
    name: 'add',
    description: 'Add a role to a project. Adding one that is there changes nothing.',
    takes: { projectId: PROJECT, role: {} },
    method: Methods.addProjectRole,
    text: (_, { role }, { texts }) => `${texts.projectId} has the role ${role}`,
  }),
  call({
    name: 'remove',
    description: 'Remove a role from a project and from everybody who has it.',
    takes: { projectId: PROJECT, role: {} },
    method: Methods.removeProjectRole,
    question: ({ role }, { texts }) => `Remove the role ${role} from ${texts.projectId} and from everybody who has it?`,
    text: (_, { role }, { texts }) => `removed the role ${role} from ${texts.projectId} and from everybody who had it`,
  }),
])

const SCOPES = group('scopes', 'Custom scopes of a project, which its users may be granted.', [
  list({
    name: 'list',
    description: 'List the scopes of a project by name.',
    takes: { projectId: PROJECT },
    method: Methods.listProjectScopes,
    items: 'scopes',
    heading: ['SCOPE'],
    row: (scope) => scope,
  }),
  call({
    name: 'add',
    description: 'Add a scope to a project. Adding one that is there changes nothing.',
    takes: { projectId: PROJECT, scope: {} },
    method: Methods.addProjectScope,
    text: (_, { scope }, { texts }) => `${texts.projectId} has the scope ${scope}`,
  }),
  call({
    name: 'remove',
    description: 'Remove a scope from a project and from everybody who has it.',
    takes: { projectId: PROJECT, scope: {} },
    method: Methods.removeProjectScope,
    question: ({ scope }, { texts }) =>
      `Remove the scope ${scope} from ${texts.projectId} and from everybody who has it?`,
    text: (_, { scope }, { texts }) =>
      `removed the scope ${scope} from ${texts.projectId} and from everybody who had it`,
  }),
])

const AUDIENCES = group(
  'audiences',
  'Audiences of a project: URIs that its services know themselves by, and clients request with "resource".',
  [
    list({
      name: 'list',
      description: 'List the audiences of a project by name.',
      takes: { projectId: PROJECT },
      method: Methods.listProjectAudiences,
      items: 'audiences',
      heading: ['AUDIENCE'],
      row: (audience) => audience,
    }),
    call({
      name: 'add',
      description: 'Add an audience to a project. Adding one that is there changes nothing.',
      takes: { projectId: PROJECT, audience: {} },
      method: Methods.addProjectAudience,
      text: (_, { audience }, { texts }) => `${texts.projectId} has the audience ${audience}`,
    }),
    call({
      name: 'remove',
      description: 'Remove an audience from a project.',
      takes: { projectId: PROJECT, audience: {} },
      method: Methods.removeProjectAudience,
      question: ({ audience }, { texts }) => `Remove the audience ${audience} from ${texts.projectId}?`,
      text: (_, { audience }, { texts }) => `removed the audience ${audience} from ${texts.projectId}`,
    }),
  ],
)

const MEMBERS = group('members', "Users with a role over a project in Keyturn's own API.", [
  list({
    name: 'list',
    description: 'List the members of a project by user id.',
    takes: { projectId: PROJECT },
    method: Methods.listProjectMembers,
    items: 'members',
    heading: ['USER ID', 'NAME', 'ROLE'],
    row: ({ userId, name, role }) => [userId, name, MEMBER_ROLES.nameOf(role)],
  }),
  call({
    name: 'set',
    description: 'Give a user a role over a project, instead of the one that it had.',
    takes: { projectId: PROJECT, userId: USER },
    options: [new Option('--role <role>', 'the role').choices(MEMBER_ROLES.names).default('PROJECT_OWNER')],
    method: Methods.setProjectMember,
    request: (ids, { options }: { readonly options: { readonly role: string } }) => ({
      ...ids,
      role: MEMBER_ROLES.valueOf(options.role),
    }),
    text: ({ member }, _, { options, texts }) => `${member?.name} is ${options.role} of ${texts.projectId}`,
  }),
  call({
    name: 'remove',
    description: 'Take the role over a project away from a user.',
    takes: { projectId: PROJECT, userId: USER },
    method: Methods.removeProjectMember,
    text: (_, { userId }, { texts }) => `${userId} is no member of ${texts.projectId}`,
  }),
])

/** The group of commands. */
export const projectsCommand = group('projects', '', [
  list({
    name: 'list',
    description: 'List all projects by name.',
    method: Methods.listProjects,
    items: 'projects',
    heading: ['PROJECT ID', 'NAME', 'AGE'],
    row: ({ projectId, name, creationDate }) => [projectId, name, ageOf(creationDate)],
  }),
  call({
    name: 'create',
    description: 'Create a project. Its id is an audience that its services may expect in a token.',
    takes: { name: { description: '1 to 63 of a-z, 0-9 and -, not starting with -' } },
    method: Methods.createProject,
    text: ({ project }, { name }) => `created ${name} (${project?.projectId})`,
  }),
  call({
    name: 'rename',
    description: 'Rename a project. The client IDs of its users change with it, at once.',
    takes: { projectId: PROJECT, name: { description: 'the new name' } },
    method: Methods.updateProject,
    request: (change) => ({ ...change, updateMask: { paths: ['name'] } }),
    text: (_, { name }, { texts }) =>
      `renamed ${texts.projectId} to ${name}: the client IDs of its users now end in @${name}`,
  }),
  call({
    name: 'roles-claim',
    description: 'Put the roles of the user in the project into tokens for it as the claim "roles" too, or not.',
    takes: { projectId: PROJECT, switch: { choices: ['on', 'off'] } },
    method: Methods.updateProject,
    request: ({ projectId, switch: state }) => ({
      projectId,
      rolesClaim: state === 'on',
      updateMask: { paths: ['roles_claim'] },
    }),
    text: (_, { switch: state }, { texts }) => `the claim roles is ${state} for ${texts.projectId}`,
  }),
  call({
    name: 'delete',
    description: 'Delete a project that has no users, and take its roles away from everybody.',
    takes: { projectId: PROJECT },
    method: Methods.deleteProject,
    question: (_, { texts }) => `Delete the project ${texts.projectId} with its roles, scopes and audiences?`,
    text: (_, __, { texts }) => `deleted ${texts.projectId}`,
  }),
  ROLES,
  SCOPES,
  AUDIENCES,
  MEMBERS,
])
