/**
 * `keyturn projects members list | set | remove`: who manages a project through the API.
 */

import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Command, Option } from 'commander'
import {
  ListProjectMembersResponseSchema,
  ProjectService,
  RemoveProjectMemberResponseSchema,
  SetProjectMemberResponseSchema,
} from '../../../gen/iam/project/v2/project_service_pb.js'
import { openApi } from '../api-client.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { formatTable } from '../table.ts'
import { PROJECT_MEMBER_ROLES, type ProjectMemberRoleName, projectMemberRoleName } from './project-member-roles.ts'
import { resolveProject, resolveUser, type UserReference, userArgument } from './references.ts'

/** The group of commands. */
export function projectMembersCommand(io: Io): Command {
  const members = new Command('members').description("Users with a role over a project in Keyturn's own API.")
  members.addCommand(listCommand(io))
  members.addCommand(setCommand(io))
  members.addCommand(removeCommand(io))
  return members
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List the members of a project by user id.')
    .argument('<project>', 'name or id')
    .action(async (project: string, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const client = createClient(ProjectService, api)
      const projectId = await resolveProject(api, project)
      const members = await everyItemOf(
        (page) => client.listProjectMembers({ projectId, ...page }),
        (response) => response.members,
      )
      const response = create(ListProjectMembersResponseSchema, { members })
      print(io, options, ListProjectMembersResponseSchema, response, (heading) =>
        formatTable(
          ['USER ID', 'NAME', 'ROLE'],
          members.map(({ userId, name, role }) => [userId, name, projectMemberRoleName(role)]),
          heading,
        ),
      )
    })
}

function setCommand(io: Io): Command {
  return withRemoteOptions(new Command('set'))
    .description('Give a user a role over a project, instead of the one that it had.')
    .argument('<project>', 'name or id')
    .addArgument(userArgument())
    .addOption(
      new Option('--role <role>', 'the role').choices(Object.keys(PROJECT_MEMBER_ROLES)).default('PROJECT_OWNER'),
    )
    .action(
      async (
        project: string,
        user: UserReference,
        options: RemoteOptions & { readonly role: ProjectMemberRoleName },
      ) => {
        const api = await openApi(io, options)
        const [projectId, userId] = [await resolveProject(api, project), await resolveUser(api, user)]
        const role = PROJECT_MEMBER_ROLES[options.role]
        const response = await createClient(ProjectService, api).setProjectMember({ projectId, userId, role })
        print(
          io,
          options,
          SetProjectMemberResponseSchema,
          response,
          () => `${response.member?.name} is ${options.role} of ${project}`,
        )
      },
    )
}

function removeCommand(io: Io): Command {
  return withRemoteOptions(new Command('remove'))
    .description('Take the role over a project away from a user.')
    .argument('<project>', 'name or id')
    .addArgument(userArgument())
    .action(async (project: string, user: UserReference, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const [projectId, userId] = [await resolveProject(api, project), await resolveUser(api, user)]
      const response = await createClient(ProjectService, api).removeProjectMember({ projectId, userId })
      print(io, options, RemoveProjectMemberResponseSchema, response, () => `${userId} is no member of ${project}`)
    })
}
