/**
 * `keyturn projects`: projects, their roles, custom scopes, audiences and members.
 */
import type { DescMessage, DescMethodUnary, MessageShape } from '@bufbuild/protobuf'
import { ProjectMemberRole } from '../../../gen/iam/project/v2/project_pb.js'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import { call, type Declaration, group, list } from '../commands.ts'
import { enumNames, option } from '../options.ts'
import { PROJECT, USER } from './references.ts'

const { method: Methods } = ProjectService

/** The group for names of one kind that a project has. */
function names<Input extends DescMessage, Output extends DescMessage>(
  kind: 'role' | 'scope' | 'audience',
  description: string,
  methods: {
    readonly listing: readonly [DescMethodUnary<Input, Output>, keyof MessageShape<Output>]
    readonly add: DescMethodUnary
    readonly remove: DescMethodUnary
  },
): Declaration {
  const takes = { projectId: PROJECT, [kind]: {} }
  const one = kind === 'audience' ? 'an audience' : `a ${kind}`
  const others = kind === 'audience' ? '' : ' and from everybody who has it'
  return group(`${kind}s`, description, [
    list(...methods.listing, {
      description: `List the ${kind}s of a project by name.`,
      takes: { projectId: PROJECT },
    }),
    call('add', methods.add, {
      description: `Add ${one} to a project. Adding one that is there changes nothing.`,
      takes,
      text: (_, __, { texts }) => `added the ${kind} ${texts[kind]}`,
    }),
    call('remove', methods.remove, {
      description: `Remove ${one} from a project${others}.`,
      takes,
      question: (_, { texts }) => `Remove the ${kind} ${texts[kind]} from ${texts.projectId}${others}?`,
    }),
  ])
}

const MEMBERS = group('members', "Users with a role over a project in Keyturn's own API.", [
  list(Methods.listProjectMembers, 'members', {
    description: 'List the members of a project by user id.',
    takes: { projectId: PROJECT },
    columns: ['userId', 'name', 'role'],
  }),
  call('set', Methods.setProjectMember, {
    description: 'Give a user a role over a project, instead of the one that it had.',
    takes: { projectId: PROJECT, userId: USER },
    options: {
      role: option<keyof typeof ProjectMemberRole>('--role <role>', 'the role')
        .choices(enumNames(ProjectMemberRole))
        .default('PROJECT_OWNER'),
    },
    request: (ids, { options }) => ({ ...ids, role: ProjectMemberRole[options.role] }),
    text: 'fields',
  }),
  call('remove', Methods.removeProjectMember, {
    description: 'Take the role over a project away from a user.',
    takes: { projectId: PROJECT, userId: USER },
  }),
])

export const projectsCommand = group('projects', '', [
  list(Methods.listProjects, 'projects', {
    description: 'List all projects by name.',
    columns: ['projectId', 'name', 'creationDate'],
  }),
  call('create', Methods.createProject, {
    description: 'Create a project. Its id is an audience that its services may expect in a token.',
    takes: { name: { description: '1 to 63 of a-z, 0-9 and -, not starting with -' } },
    text: ({ project }, { name }) => `created ${name} (${project?.projectId})`,
  }),
  call('rename', Methods.updateProject, {
    description: 'Rename a project. The client IDs of its users change with it, at once.',
    takes: { projectId: PROJECT, name: { description: 'the new name' } },
    request: (change) => ({ ...change, updateMask: { paths: ['name'] } }),
    text: (_, { name }) => `renamed: the client IDs of its users now end in @${name}`,
  }),
  call('roles-claim', Methods.updateProject, {
    description: 'Put the roles of the user in the project into tokens for it as the claim "roles" too, or not.',
    takes: { projectId: PROJECT, switch: { choices: ['on', 'off'] } },
    request: ({ projectId, switch: state }) => ({
      projectId,
      rolesClaim: state === 'on',
      updateMask: { paths: ['roles_claim'] },
    }),
    text: 'fields',
  }),
  call('delete', Methods.deleteProject, {
    description: 'Delete a project that has no users, and take its roles away from everybody.',
    takes: { projectId: PROJECT },
    question: (_, { texts }) => `Delete the project ${texts.projectId} with its roles, scopes and audiences?`,
  }),
  names('role', 'Roles of a project, which its services find in tokens.', {
    listing: [Methods.listProjectRoles, 'roles'],
    add: Methods.addProjectRole,
    remove: Methods.removeProjectRole,
  }),
  names('scope', 'Custom scopes of a project, which its users may be granted.', {
    listing: [Methods.listProjectScopes, 'scopes'],
    add: Methods.addProjectScope,
    remove: Methods.removeProjectScope,
  }),
  names(
    'audience',
    'Audiences of a project: URIs that its services know themselves by, and clients request with "resource".',
    {
      listing: [Methods.listProjectAudiences, 'audiences'],
      add: Methods.addProjectAudience,
      remove: Methods.removeProjectAudience,
    },
  ),
  MEMBERS,
])
