/**
 * `keyturn projects roles | scopes | audiences`, each with `list | add | remove`.
 */
import { create, type JsonValue, toJson } from '@bufbuild/protobuf'
import { type Client, createClient } from '@connectrpc/connect'
import { Command } from 'commander'
import {
  AddProjectAudienceResponseSchema,
  AddProjectRoleResponseSchema,
  AddProjectScopeResponseSchema,
  ListProjectAudiencesResponseSchema,
  ListProjectRolesResponseSchema,
  ListProjectScopesResponseSchema,
  ProjectService,
  RemoveProjectAudienceResponseSchema,
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
import { resolveProject } from './references.ts'

type Projects = Client<typeof ProjectService>

/** Roles, scopes or audiences, and their calls of the API, which return the response as JSON. */
interface Kind {
  readonly noun: 'role' | 'scope' | 'audience'
  readonly purpose: string
  /** Whether users have it, who lose it when it is removed. */
  readonly isGranted: boolean
  list(client: Projects, projectId: string): Promise<{ readonly names: readonly string[]; readonly json: JsonValue }>
  add(client: Projects, projectId: string, name: string): Promise<JsonValue>
  remove(client: Projects, projectId: string, name: string): Promise<JsonValue>
}

const ROLES: Kind = {
  noun: 'role',
  purpose: 'Roles of a project, which its services find in tokens.',
  isGranted: true,
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
  isGranted: true,
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

const AUDIENCES: Kind = {
  noun: 'audience',
  purpose: 'Audiences of a project: URIs that its services know themselves by, and clients request with "resource".',
  isGranted: false,
  async list(client, projectId) {
    const audiences = await everyItemOf(
      (page) => client.listProjectAudiences({ projectId, ...page }),
      (response) => response.audiences,
    )
    return {
      names: audiences,
      json: toJson(ListProjectAudiencesResponseSchema, create(ListProjectAudiencesResponseSchema, { audiences })),
    }
  },
  add: async (client, projectId, audience) =>
    toJson(AddProjectAudienceResponseSchema, await client.addProjectAudience({ projectId, audience })),
  remove: async (client, projectId, audience) =>
    toJson(RemoveProjectAudienceResponseSchema, await client.removeProjectAudience({ projectId, audience })),
}

/** The group of commands for roles. */
export function projectRolesCommand(io: Io): Command {
  return groupOf(io, ROLES)
}

/** The group of commands for custom scopes. */
export function projectScopesCommand(io: Io): Command {
  return groupOf(io, SCOPES)
}

/** The group of commands for audiences. */
export function projectAudiencesCommand(io: Io): Command {
  return groupOf(io, AUDIENCES)
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
    .description(
      `Add ${noun === 'audience' ? 'an' : 'a'} ${noun} to a project. Adding one that is there changes nothing.`,
    )
    .argument('<project>', 'name or id')
    .argument(`<${noun}>`)
    .action(async (project: string, name: string, options: RemoteOptions) => {
      const { client, projectId } = await open(io, project, options)
      printJson(io, options, await add(client, projectId, name), () => `${project} has the ${noun} ${name}`)
    })
}

function removeCommand(io: Io, { noun, isGranted, remove }: Kind): Command {
  const from = isGranted ? ' and from everybody who has it' : ''
  return withRemoteOptions(new Command('remove'))
    .description(`Remove ${noun === 'audience' ? 'an' : 'a'} ${noun} from a project${from}.`)
    .argument('<project>', 'name or id')
    .argument(`<${noun}>`)
    .addOption(yesOption())
    .action(async (project: string, name: string, options: RemoteOptions & YesOption) => {
      const { client, projectId } = await open(io, project, options)
      await confirm(io, options, `Remove the ${noun} ${name} from ${project}${from}?`)
      const json = await remove(client, projectId, name)
      const done = `removed the ${noun} ${name} from ${project}`
      printJson(io, options, json, () => (isGranted ? `${done} and from everybody who had it` : done))
    })
}

async function open(io: Io, project: string, options: RemoteOptions): Promise<{ client: Projects; projectId: string }> {
  const api = await openApi(io, options)
  return { client: createClient(ProjectService, api), projectId: await resolveProject(api, project) }
}
