/**
 * `keyturn projects list | create | rename | roles-claim | delete`, and the groups for roles, custom scopes and audiences.
 */
import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Argument, Command } from 'commander'
import {
  CreateProjectResponseSchema,
  DeleteProjectResponseSchema,
  ListProjectsResponseSchema,
  ProjectService,
  UpdateProjectResponseSchema,
} from '../../../gen/iam/project/v2/project_service_pb.js'
import { connect, openApi } from '../api-client.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { everyItemOf } from '../pages.ts'
import { print } from '../print.ts'
import { ageOf, formatTable } from '../table.ts'
import { projectMembersCommand } from './project-members-command.ts'
import { projectAudiencesCommand, projectRolesCommand, projectScopesCommand } from './project-roles-scopes-command.ts'
import { resolveProject } from './references.ts'

/** The group of commands. */
export function projectsCommand(io: Io): Command {
  const projects = new Command('projects')
  projects.addCommand(listCommand(io))
  projects.addCommand(createCommand(io))
  projects.addCommand(renameCommand(io))
  projects.addCommand(rolesClaimCommand(io))
  projects.addCommand(deleteCommand(io))
  projects.addCommand(projectRolesCommand(io))
  projects.addCommand(projectScopesCommand(io))
  projects.addCommand(projectAudiencesCommand(io))
  projects.addCommand(projectMembersCommand(io))
  return projects
}

function listCommand(io: Io): Command {
  return withRemoteOptions(new Command('list'))
    .description('List all projects by name.')
    .action(async (options: RemoteOptions) => {
      const client = await connect(io, options, ProjectService)
      const projects = await everyItemOf(
        (page) => client.listProjects(page),
        (response) => response.projects,
      )
      print(io, options, ListProjectsResponseSchema, create(ListProjectsResponseSchema, { projects }), (heading) =>
        formatTable(
          ['PROJECT ID', 'NAME', 'AGE'],
          projects.map(({ projectId, name, creationDate }) => [projectId, name, ageOf(creationDate)]),
          heading,
        ),
      )
    })
}

function createCommand(io: Io): Command {
  return withRemoteOptions(new Command('create'))
    .description('Create a project. Its id is an audience that its services may expect in a token.')
    .argument('<name>', '1 to 63 of a-z, 0-9 and -, not starting with -')
    .action(async (name: string, options: RemoteOptions) => {
      const response = await (await connect(io, options, ProjectService)).createProject({ name })
      print(
        io,
        options,
        CreateProjectResponseSchema,
        response,
        () => `created ${name} (${response.project?.projectId})`,
      )
    })
}

function renameCommand(io: Io): Command {
  return withRemoteOptions(new Command('rename'))
    .description('Rename a project. The client IDs of its users change with it, at once.')
    .argument('<project>', 'name or id')
    .argument('<name>', 'the new name')
    .action(async (project: string, name: string, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const projectId = await resolveProject(api, project)
      const client = createClient(ProjectService, api)
      const response = await client.updateProject({ projectId, name, updateMask: { paths: ['name'] } })
      print(
        io,
        options,
        UpdateProjectResponseSchema,
        response,
        () => `renamed ${project} to ${name}: the client IDs of its users now end in @${name}`,
      )
    })
}

function rolesClaimCommand(io: Io): Command {
  return withRemoteOptions(new Command('roles-claim'))
    .description('Put the roles of the user in the project into tokens for it as the claim "roles" too, or not.')
    .argument('<project>', 'name or id')
    .addArgument(new Argument('<switch>').choices(['on', 'off']))
    .action(async (project: string, state: string, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const projectId = await resolveProject(api, project)
      const response = await createClient(ProjectService, api).updateProject({
        projectId,
        rolesClaim: state === 'on',
        updateMask: { paths: ['roles_claim'] },
      })
      print(io, options, UpdateProjectResponseSchema, response, () => `the claim roles is ${state} for ${project}`)
    })
}

function deleteCommand(io: Io): Command {
  return withRemoteOptions(new Command('delete'))
    .description('Delete a project that has no users, and take its roles away from everybody.')
    .argument('<project>', 'name or id')
    .addOption(yesOption())
    .action(async (project: string, options: RemoteOptions & YesOption) => {
      const api = await openApi(io, options)
      const projectId = await resolveProject(api, project)
      await confirm(io, options, `Delete the project ${project} with its roles, scopes and audiences?`)
      const response = await createClient(ProjectService, api).deleteProject({ projectId })
      print(io, options, DeleteProjectResponseSchema, response, () => `deleted ${project}`)
    })
}
