/**
 * `keyturn users`: service users, what they may do, and the groups for their keys, certificates and tokens. Their client secrets are
 * `keyturn secrets`.
 */
import { create } from '@bufbuild/protobuf'
import { DurationSchema } from '@bufbuild/protobuf/wkt'
import type { Transport } from '@connectrpc/connect'
import { Option } from 'commander'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import type { ServiceUser } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { call, type Declaration, group, invoke, list, type Parameter } from '../api-command.ts'
import { refusalReasonOf } from '../api-error.ts'
import { formatFields, formatMoment } from '../table.ts'
import { formatDuration, parseDuration } from '../when.ts'
import { MEMBER_ROLES } from './projects-command.ts'
import { resolveProject, USER } from './references.ts'
import { userCertificatesCommand } from './user-certificates-command.ts'
import { grantCommand, INSTANCE_ROLES, revokeCommand } from './user-grants-command.ts'
import { userKeysCommand } from './user-keys-command.ts'
import { userTokensCommand } from './user-tokens-command.ts'

const { method: Methods } = ServiceUserService

const ON_OFF = { placeholder: 'switch', choices: ['on', 'off'] } as const

/** What settings change. */
type Changes = Partial<
  Pick<
    ServiceUser,
    | 'name'
    | 'clientCredentialsEnabled'
    | 'tokenLifetime'
    | 'tokenClaims'
    | 'boundTokensRequired'
    | 'certificateBoundTokens'
  >
>

/** A setting of a user. */
interface Setting {
  readonly name: string
  readonly description: string
  readonly value: Parameter
  readonly change: (value: string) => Changes
  readonly field: string
  readonly done: (user: ServiceUser, value: string) => string
}

/** Declares a command that changes one. */
function setting({ name, description, value, change, field, done }: Setting): Declaration {
  return call({
    name,
    description,
    takes: { userId: USER, value },
    method: Methods.updateServiceUser,
    request: ({ userId, value: chosen }) => ({ userId, ...change(chosen), updateMask: { paths: [field] } }),
    text: ({ serviceUser }, { value: chosen }) => (serviceUser === undefined ? '' : done(serviceUser, chosen)),
  })
}

/** The group of commands. */
export const usersCommand = group('users', '', [
  list({
    name: 'list',
    description: 'List users, oldest first. The client ID is the user id, an @ and the project.',
    options: [
      new Option('--project <project>', 'only users of this project: its name or id'),
      new Option('--search <text>', 'only users whose name or client ID contains this text, in any case'),
    ],
    method: Methods.listServiceUsers,
    request: async (
      _,
      { api, options: { project, search = '' } }: { api: Transport; options: { project?: string; search?: string } },
    ) => ({ projectId: project === undefined ? '' : await resolveProject(api, project), search }),
    items: 'serviceUsers',
    heading: ['CLIENT ID', 'STATE', 'NAME'],
    row: ({ clientId, enabled, name }) => [clientId, enabled ? 'enabled' : 'disabled', name],
  }),
  call({
    name: 'create',
    description: 'Create a user without secrets, keys and roles, and print its client ID.',
    takes: { name: { description: 'what people call it' } },
    options: [
      new Option('--project <project>', 'the project that it belongs to: its name or id').makeOptionMandatory(),
      new Option('--no-client-credentials', 'do not let it get tokens with the client credentials grant yet'),
    ],
    method: Methods.createServiceUser,
    request: async (
      { name },
      { api, options }: { api: Transport; options: { project: string; clientCredentials: boolean } },
    ) => ({
      projectId: await resolveProject(api, options.project),
      name,
      clientCredentialsEnabled: options.clientCredentials,
    }),
    text: ({ serviceUser }) => `created ${serviceUser?.clientId}`,
  }),
  call({
    name: 'show',
    description: 'Print everything about a user except its credentials.',
    takes: { userId: USER },
    method: Methods.getServiceUser,
    text: async ({ serviceUser }, _, { api }) => formatFields(await fieldsOf(serviceUser, api)),
  }),
  setting({
    name: 'rename',
    description: 'Change what people call a user. Its client ID stays.',
    value: { placeholder: 'name', description: 'the new name' },
    change: (name) => ({ name }),
    field: 'name',
    done: ({ clientId }, name) => `renamed ${clientId} to ${name}`,
  }),
  call({
    name: 'enable',
    description: 'Let a disabled user work again.',
    takes: { userId: USER },
    method: Methods.enableServiceUser,
    text: ({ serviceUser }) => `enabled ${serviceUser?.clientId}`,
  }),
  call({
    name: 'disable',
    description: 'Stop a user: no new tokens, no calls. Tokens that it has stay valid elsewhere until they expire.',
    takes: { userId: USER },
    method: Methods.disableServiceUser,
    text: ({ serviceUser }) => `disabled ${serviceUser?.clientId}`,
  }),
  call({
    name: 'revoke-tokens',
    description:
      'Revoke all access tokens that a user has got so far, for the API of Keyturn and for introspection, and end its sessions of the ' +
      'console. Other services accept the tokens until they expire.',
    takes: { userId: USER },
    method: Methods.revokeTokens,
    question: ({ userId }) => `Revoke all access tokens of the user ${userId}?`,
    text: (_, { userId }) => `revoked the access tokens of ${userId}`,
  }),
  call({
    name: 'delete',
    description: 'Delete a user with its secrets, keys, tokens and roles.',
    takes: { userId: USER },
    method: Methods.deleteServiceUser,
    question: ({ userId }) => `Delete the user ${userId} with its secrets, keys, tokens and roles?`,
    text: (_, { userId }) => `deleted ${userId}`,
  }),
  setting({
    name: 'client-credentials',
    description: 'Let a user get tokens with the client credentials grant, or not.',
    value: ON_OFF,
    change: (position) => ({ clientCredentialsEnabled: position === 'on' }),
    field: 'client_credentials_enabled',
    done: ({ clientId }, position) => `the client credentials grant of ${clientId} is ${position}`,
  }),
  setting({
    name: 'token-lifetime',
    description:
      'Set how long the access tokens of a user live from now on. "default" is KEYTURN_TOKEN_LIFETIME, which is also the limit.',
    value: { placeholder: 'time', description: 'such as 5m or 90s, or default', check: lifetimeIn },
    change: (time) => lifetimeIn(time),
    field: 'token_lifetime',
    done: ({ clientId, tokenLifetime: lifetime }) =>
      `tokens of ${clientId} live for ${lifetime === undefined ? 'the default time' : formatDuration(lifetime)}`,
  }),
  setting({
    name: 'token-claims',
    description: 'Set claims that each access token of a user has from now on, besides those that Keyturn sets.',
    value: { placeholder: 'json', description: `a JSON object, such as '{"tenant": "a"}'; '{}' for none` },
    change: (tokenClaims) => ({ tokenClaims }),
    field: 'token_claims',
    done: ({ clientId, tokenClaims }) =>
      `tokens of ${clientId} have ${tokenClaims === '' ? 'no claims of their own' : tokenClaims}`,
  }),
  setting({
    name: 'bound-tokens',
    description:
      'Give a user only tokens that are bound to a key (DPoP) or to a client certificate, or bearer tokens too. This command line makes no ' +
      'DPoP proofs.',
    value: { placeholder: 'rule', choices: ['required', 'optional'] },
    change: (rule) => ({ boundTokensRequired: rule === 'required' }),
    field: 'bound_tokens_required',
    done: ({ clientId }, rule) => `bound tokens are ${rule} for ${clientId}`,
  }),
  setting({
    name: 'certificate-bound-tokens',
    description:
      'Bind the tokens of a user to the client certificate with which it requests them, or take no notice of certificates (RFC 8705).',
    value: ON_OFF,
    change: (position) => ({ certificateBoundTokens: position === 'on' }),
    field: 'certificate_bound_tokens',
    done: ({ clientId }, position) => `certificate-bound tokens are ${position} for ${clientId}`,
  }),
  grantCommand,
  revokeCommand,
  userKeysCommand,
  userCertificatesCommand,
  userTokensCommand,
])

/** @throws {InvalidArgumentError} */
function lifetimeIn(text: string): Changes {
  return text === 'default' ? {} : { tokenLifetime: create(DurationSchema, { seconds: parseDuration(text) }) }
}

async function fieldsOf(user: ServiceUser | undefined, api: Transport): Promise<[string, string][]> {
  if (user === undefined) return []
  const roles = await Promise.all(
    user.projectRoles.map(async ({ projectId, roles: names }) => {
      const project = await nameOf(projectId, api)
      return names.map((role) => `${project}:${role}`)
    }),
  )
  const managed = await Promise.all(
    user.managedProjects.map(
      async ({ projectId, role }) => `${await nameOf(projectId, api)}:${MEMBER_ROLES.nameOf(role)}`,
    ),
  )
  return [
    ['client ID', user.clientId],
    ['name', user.name],
    ['project', user.projectId],
    ['state', user.enabled ? 'enabled' : 'disabled'],
    ['client credentials', user.clientCredentialsEnabled ? 'on' : 'off'],
    ['bound tokens', user.boundTokensRequired ? 'required' : 'optional'],
    ['certificate bound', user.certificateBoundTokens ? 'on' : 'off'],
    ['instance roles', listed(user.instanceRoles.map(INSTANCE_ROLES.nameOf))],
    ['manages', listed(managed.sort())],
    ['project roles', listed(roles.flat().sort())],
    ['scopes', listed(user.scopes)],
    ['token lifetime', user.tokenLifetime === undefined ? '-' : formatDuration(user.tokenLifetime)],
    ['token claims', user.tokenClaims === '' ? '-' : user.tokenClaims],
    ['created', user.creationDate === undefined ? '' : formatMoment(user.creationDate)],
  ]
}

/** The name of a project; the id of one that the caller may not see. */
async function nameOf(projectId: string, api: Transport): Promise<string> {
  try {
    const { project } = await invoke(api, ProjectService.method.getProject, { projectId })
    return project?.name ?? projectId
  } catch (error) {
    if (!['PROJECT_NOT_FOUND', 'PERMISSION_MISSING'].includes(refusalReasonOf(error) ?? '')) throw error
    return projectId
  }
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? '-' : names.join(' ')
}
