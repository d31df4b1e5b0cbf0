/**
 * `keyturn projects roles | scopes`, each with `list | add | remove`.
 */
import { create, type JsonValue, toJson } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { Command } from 'commander'
import {
  AddProjectRoleResponseSchema,
  AddProjectScopeResponseSchema,
  ListProjectRolesResponseSchema,
  ListProjectScopesResponseSchema,
  ProjectService,
  RemoveProjectRoleResponseSchema,
  RemoveProjectScopeResponseSchema,
} from '../../../gen/iam/project/v2/project_service_pb.js'
import { openApi } from '../api-client.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { printJson } from '../output.ts'
import { everyItemOf } from '../pages.ts'
import { formatTable } from '../table.ts'
import { createClient } from '../unary-client.ts'
import { resolveProject } from './references.ts'

type Projects = Client<typeof ProjectService>

/** Roles or scopes, and their calls of the API, which return the response as JSON. */
interface Kind {
  readonly noun: 'role' | 'scope'
  readonly purpose: string
  list(client: Projects, projectId: string): Promise<{ readonly names: readonly string[]; readonly json: JsonValue }>
  add(client: Projects, projectId: string, name: string): Promise<JsonValue>
  remove(client: Projects, projectId: string, name: string): Promise<JsonValue>
}

const ROLES: Kind = {
  noun: 'role',
  purpose: 'Roles of a project, which its services find in tokens.',
  async list(client, projectId) {
    const roles = await everyItemOf(
      (page) => client.listProjectRoles({ projectId, ...page }),
      (response) => response.roles,
    )
    return {
      names: roles,
      json: toJson(ListProjectRolesResponseSchema, create(ListProjectRolesResponseSchema, { roles })),
    }
  },
  add: async (client, projectId, role) =>
    toJson(AddProjectRoleResponseSchema, await client.addProjectRole({ projectId, role })),
  remove: async (client, projectId, role) =>
    toJson(RemoveProjectRoleResponseSchema, await client.removeProjectRole({ projectId, role })),
}

const SCOPES: Kind = {
  noun: 'scope',
  purpose: 'Custom scopes of a project, which its users may be granted.',
  async list(client, projectId) {
    const scopes = await everyItemOf(
      (page) => client.listProjectScopes({ projectId, ...page }),
      (response) => response.scopes,
    )
    return {
      names: scopes,
      json: toJson(ListProjectScopesResponseSchema, create(ListProjectScopesResponseSchema, { scopes })),
    }
  },
  add: async (client, projectId, scope) =>
    toJson(AddProjectScopeResponseSchema, await client.addProjectScope({ projectId, scope })),
  remove: async (client, projectId, scope) =>
    toJson(RemoveProjectScopeResponseSchema, await client.removeProjectScope({ projectId, scope })),
}

/** The group of commands for roles. */
export function projectRolesCommand(io: Io): Command {
  return groupOf(io, ROLES)
}

/** The group of commands for custom scopes. */
export function projectScopesCommand(io: Io): Command {
  return groupOf(io, SCOPES)
}

function groupOf(io: Io, kind: Kind): Command {
  const group = new Command(`${kind.noun}s`).description(kind.purpose)
  group.addCommand(listCommand(io, kind))
  group.addCommand(addCommand(io, kind))
  group.addCommand(removeCommand(io, kind))
  return group
}

function listCommand(io: Io, { noun, list }: Kind): Command {
  return withRemoteOptions(new Command('list'))
    .description(`List the ${noun}s of a project by name.`)
    .argument('<project>', 'name or id')
    .action(async (project: string, options: RemoteOptions) => {
      const { client, projectId } = await open(io, project, options)
      const { names, json } = await list(client, projectId)
      printJson(io, options, json, (heading) =>
        formatTable(
          [noun.toUpperCase()],
          names.map((name) => [name]),
          heading,
        ),
      )
    })
}

function addCommand(io: Io, { noun, add }: Kind): Command {
  return withRemoteOptions(new Command('add'))
    .description(`Add a ${noun} to a project. Adding one that is there changes nothing.`)
    .argument('<project>', 'name or id')
    .argument(`<${noun}>`)
    .action(async (project: string, name: string, options: RemoteOptions) => {
      const { client, projectId } = await open(io, project, options)
      printJson(io, options, await add(client, projectId, name), () => `${project} has the ${noun} ${name}`)
    })
}

function removeCommand(io: Io, { noun, remove }: Kind): Command {
  return withRemoteOptions(new Command('remove'))
    .description(`Remove a ${noun} from a project and from everybody who has it.`)
    .argument('<project>', 'name or id')
    .argument(`<${noun}>`)
    .addOption(yesOption())
    .action(async (project: string, name: string, options: RemoteOptions & YesOption) => {
      const { client, projectId } = await open(io, project, options)
      await confirm(io, options, `Remove the ${noun} ${name} from ${project} and from everybody who has it?`)
      const json = await remove(client, projectId, name)
      printJson(io, options, json, () => `removed the ${noun} ${name} from ${project} and from everybody who had it`)
    })
}

async function open(io: Io, project: string, options: RemoteOptions): Promise<{ client: Projects; projectId: string }> {
  const api = await openApi(io, options)
  return { client: createClient(ProjectService, api), projectId: await resolveProject(api, project) }
}
