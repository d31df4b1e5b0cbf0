/**
 * `keyturn users`: service users, what they may do, and the groups for their keys, certificates and tokens. Their client secrets are
 * `keyturn secrets`.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { ProjectMemberRole } from '../../../gen/iam/project/v2/project_pb.js'
import { ProjectService } from '../../../gen/iam/project/v2/project_service_pb.js'
import { InstanceRole, type ServiceUser } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { type Api, infoOf } from '../api.ts'
import { call, type Declaration, group, list, type Parameter } from '../commands.ts'
import { option } from '../options.ts'
import { formatFields } from '../output.ts'
import { formatDuration, formatMoment, parseDuration } from '../times.ts'
import { userCertificatesCommand, userKeysCommand, userTokensCommand } from './credentials-commands.ts'
import { grantCommand, revokeCommand } from './grants-command.ts'
import { PROJECT, USER } from './references.ts'

const { method: Methods } = ServiceUserService

const ON_OFF = { placeholder: 'switch', choices: ['on', 'off'] } as const

type Changes = Omit<MessageInitShape<typeof Methods.updateServiceUser.input>, '$typeName' | 'userId' | 'updateMask'>

interface Setting {
  readonly description: string
  readonly value: Parameter
  readonly change: (value: string) => Changes
  readonly done: (user: ServiceUser, value: string) => string
}

/** Declares a command that changes one setting of a user. */
function setting(name: string, field: string, { description, value, change, done }: Setting): Declaration {
  return call(name, Methods.updateServiceUser, {
    description,
    takes: { userId: USER, value },
    request: ({ userId, value: chosen }) => ({ userId, ...change(chosen), updateMask: { paths: [field] } }),
    text: ({ serviceUser }, { value: chosen }) => (serviceUser === undefined ? '' : done(serviceUser, chosen)),
  })
}

export const usersCommand = group('users', '', [
  list(Methods.listServiceUsers, 'serviceUsers', {
    description: 'List users, oldest first. The client ID is the user id, an @ and the project.',
    options: {
      project: option('--project <project>', 'only users of this project: its name or id'),
      search: option('--search <text>', 'only users whose name or client ID contains this text, in any case'),
    },
    request: async (_, { api, options: { project, search = '' } }) => ({
      projectId: project === undefined ? '' : await PROJECT.resolve(project, api),
      search,
    }),
    heading: ['CLIENT ID', 'STATE', 'NAME'],
    row: ({ clientId, enabled, name }) => [clientId, enabled ? 'enabled' : 'disabled', name],
  }),
  call('create', Methods.createServiceUser, {
    description: 'Create a user without secrets, keys and roles, and print its client ID.',
    takes: { name: { description: 'what people call it' } },
    options: {
      project: option<string>(
        '--project <project>',
        'the project that it belongs to: its name or id',
      ).makeOptionMandatory(),
      clientCredentials: option<boolean>(
        '--no-client-credentials',
        'do not let it get tokens with the client credentials grant yet',
      ),
    },
    request: async ({ name }, { api, options }) => ({
      projectId: await PROJECT.resolve(options.project, api),
      name,
      clientCredentialsEnabled: options.clientCredentials,
    }),
    text: ({ serviceUser }) => `created ${serviceUser?.clientId}`,
  }),
  call('show', Methods.getServiceUser, {
    description: 'Print everything about a user except its credentials.',
    takes: { userId: USER },
    text: async ({ serviceUser }, _, { api }) => formatFields(await fieldsOf(serviceUser, api)),
  }),
  setting('rename', 'name', {
    description: 'Change what people call a user. Its client ID stays.',
    value: { placeholder: 'name', description: 'the new name' },
    change: (name) => ({ name }),
    done: ({ clientId }, name) => `renamed ${clientId} to ${name}`,
  }),
  call('enable', Methods.enableServiceUser, {
    description: 'Let a disabled user work again.',
    takes: { userId: USER },
    text: ({ serviceUser }) => `enabled ${serviceUser?.clientId}`,
  }),
  call('disable', Methods.disableServiceUser, {
    description: 'Stop a user: no new tokens, no calls. Tokens that it has stay valid elsewhere until they expire.',
    takes: { userId: USER },
    text: ({ serviceUser }) => `disabled ${serviceUser?.clientId}`,
  }),
  call('revoke-tokens', Methods.revokeTokens, {
    description:
      'Revoke all access tokens that a user has got so far, for the API of Keyturn and for introspection, and end its sessions of the ' +
      'console. Other services accept the tokens until they expire.',
    takes: { userId: USER },
    question: ({ userId }) => `Revoke all access tokens of the user ${userId}?`,
    text: (_, { userId }) => `revoked the access tokens of ${userId}`,
  }),
  call('delete', Methods.deleteServiceUser, {
    description: 'Delete a user with its secrets, keys, tokens and roles.',
    takes: { userId: USER },
    question: ({ userId }) => `Delete the user ${userId} with its secrets, keys, tokens and roles?`,
    text: (_, { userId }) => `deleted ${userId}`,
  }),
  setting('client-credentials', 'client_credentials_enabled', {
    description: 'Let a user get tokens with the client credentials grant, or not.',
    value: ON_OFF,
    change: (position) => ({ clientCredentialsEnabled: position === 'on' }),
    done: ({ clientId }, position) => `the client credentials grant of ${clientId} is ${position}`,
  }),
  setting('token-lifetime', 'token_lifetime', {
    description:
      'Set how long the access tokens of a user live from now on. "default" is KEYTURN_TOKEN_LIFETIME, which is also the limit.',
    value: { placeholder: 'time', description: 'such as 5m or 90s, or default', check: lifetimeIn },
    change: (time) => lifetimeIn(time),
    done: ({ clientId, tokenLifetime: lifetime }) =>
      `tokens of ${clientId} live for ${lifetime === undefined ? 'the default time' : formatDuration(lifetime)}`,
  }),
  setting('token-claims', 'token_claims', {
    description: 'Set claims that each access token of a user has from now on, besides those that Keyturn sets.',
    value: { placeholder: 'json', description: `a JSON object, such as '{"tenant": "a"}'; '{}' for none` },
    change: (tokenClaims) => ({ tokenClaims }),
    done: ({ clientId, tokenClaims }) =>
      `tokens of ${clientId} have ${tokenClaims === '' ? 'no claims of their own' : tokenClaims}`,
  }),
  setting('bound-tokens', 'bound_tokens_required', {
    description:
      'Give a user only tokens that are bound to a key (DPoP) or to a client certificate, or bearer tokens too. This command line makes no ' +
      'DPoP proofs.',
    value: { placeholder: 'rule', choices: ['required', 'optional'] },
    change: (rule) => ({ boundTokensRequired: rule === 'required' }),
    done: ({ clientId }, rule) => `bound tokens are ${rule} for ${clientId}`,
  }),
  setting('certificate-bound-tokens', 'certificate_bound_tokens', {
    description:
      'Bind the tokens of a user to the client certificate with which it requests them, or take no notice of certificates (RFC 8705).',
    value: ON_OFF,
    change: (position) => ({ certificateBoundTokens: position === 'on' }),
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
  return text === 'default' ? {} : { tokenLifetime: { seconds: parseDuration(text) } }
}

async function fieldsOf(user: ServiceUser | undefined, api: Api): Promise<[string, string][]> {
  if (user === undefined) return []
  const ids = new Set([...user.projectRoles, ...user.managedProjects].map(({ projectId }) => projectId))
  const names = new Map(await Promise.all([...ids].map(async (id) => [id, await nameOf(id, api)] as const)))
  const roles = user.projectRoles.flatMap(({ projectId, roles: own }) =>
    own.map((role) => `${names.get(projectId)}:${role}`),
  )
  const managed = user.managedProjects.map(
    ({ projectId, role }) => `${names.get(projectId)}:${ProjectMemberRole[role] ?? `unknown (${role})`}`,
  )
  return [
    ['client ID', user.clientId],
    ['name', user.name],
    ['project', user.projectId],
    ['state', user.enabled ? 'enabled' : 'disabled'],
    ['client credentials', user.clientCredentialsEnabled ? 'on' : 'off'],
    ['bound tokens', user.boundTokensRequired ? 'required' : 'optional'],
    ['certificate bound', user.certificateBoundTokens ? 'on' : 'off'],
    ['instance roles', user.instanceRoles.map((role) => InstanceRole[role] ?? `unknown (${role})`).join(' ') || '-'],
    ['manages', managed.sort().join(' ') || '-'],
    ['project roles', roles.sort().join(' ') || '-'],
    ['scopes', user.scopes.join(' ') || '-'],
    ['token lifetime', user.tokenLifetime === undefined ? '-' : formatDuration(user.tokenLifetime)],
    ['token claims', user.tokenClaims || '-'],
    ['created', formatMoment(user.creationDate)],
  ]
}

/** The name of a project; the id of one that the caller may not see. */
async function nameOf(projectId: string, api: Api): Promise<string> {
  try {
    const { project } = await api.call(ProjectService.method.getProject, { projectId })
    return project?.name ?? projectId
  } catch (error) {
    if (!['PROJECT_NOT_FOUND', 'PERMISSION_MISSING'].includes(infoOf(error)?.reason ?? '')) throw error
    return projectId
  }
}
