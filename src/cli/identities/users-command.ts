/**
 * `keyturn users`: service users, what they may do, and the groups for their keys, certificates and tokens. Their client secrets are
 * `keyturn secrets`.
 */
import { type DescMethodUnary, type MessageInitShape, toJson } from '@bufbuild/protobuf'
import { InvalidArgumentError } from 'commander'
import { InstanceRole } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { call, command, type Declaration, group, list, type Parameter } from '../commands.ts'
import { alternatives, enumNames, option, UsageError } from '../options.ts'
import { formatMessage, printResult } from '../output.ts'
import { parseDuration } from '../times.ts'
import { userCertificatesCommand, userKeysCommand, userTokensCommand } from './credentials-commands.ts'
import { PROJECT, USER } from './references.ts'

const { method: Methods } = ServiceUserService

const ON_OFF = { placeholder: 'switch', choices: ['on', 'off'] } as const

type Changes = Omit<MessageInitShape<typeof Methods.updateServiceUser.input>, '$typeName' | 'userId' | 'updateMask'>

interface Setting {
  readonly description: string
  readonly value: Parameter
  readonly change: (value: string) => Changes
}

/** Declares a command that changes one setting of a user. */
function setting(name: string, field: string, { description, value, change }: Setting): Declaration {
  return call(name, Methods.updateServiceUser, {
    description,
    takes: { userId: USER, value },
    request: ({ userId, value: chosen }) => ({ userId, ...change(chosen), updateMask: { paths: [field] } }),
    text: 'fields',
  })
}

interface RoleOfProject {
  readonly project: string
  readonly role: string
}

const GRANT = changeCommand('grant', 'Grant a user a role or scope. Granting one that it has changes nothing.')

const REVOKE = changeCommand('revoke', 'Take a role or scope away from a user. Tokens that it has keep it.')

function changeCommand(direction: 'grant' | 'revoke', description: string): Declaration {
  const isGrant = direction === 'grant'
  return command(direction, {
    description,
    takes: { userId: USER },
    options: alternatives({
      role: option<RoleOfProject | undefined>('--role <project:role>', 'a role of any project').argParser(parseRole),
      scope: option('--scope <scope>', "a custom scope of the user's project"),
      instanceRole: option<keyof typeof InstanceRole | undefined>(
        '--instance-role <role>',
        'a role over the instance',
      ).choices(enumNames(InstanceRole)),
    }),
    check({ role, scope, instanceRole }) {
      if ((role ?? scope ?? instanceRole) === undefined)
        throw new UsageError(`say what to ${direction}: --role, --scope or --instance-role`)
    },
    async run({ userId }, { io, api, options }) {
      const { role, scope = '', instanceRole } = options
      const change = async (method: DescMethodUnary, fields: object) => {
        const response = await api.call(method, { userId, ...fields })
        await printResult(io, options, toJson(method.output, response), () => formatMessage(method.output, response))
      }
      if (role !== undefined) {
        const projectId = await PROJECT.resolve(role.project, api)
        return await change(isGrant ? Methods.grantProjectRole : Methods.revokeProjectRole, {
          projectId,
          role: role.role,
        })
      }
      if (instanceRole === undefined) return await change(isGrant ? Methods.grantScope : Methods.revokeScope, { scope })
      // The API sets all instance roles at once, so the others are read first. Concurrent changes may undo each other.
      const { serviceUser } = await api.call(Methods.getServiceUser, { userId })
      const wanted = InstanceRole[instanceRole]
      const others = (serviceUser?.instanceRoles ?? []).filter((other) => other !== wanted)
      await change(Methods.setInstanceRoles, { instanceRoles: isGrant ? [...others, wanted] : others })
    },
  })
}

/** A project's name or id has no colon, a role may have some. */
function parseRole(text: string): RoleOfProject {
  const [, project, role] = /^([^:]+):(.+)$/s.exec(text) ?? []
  if (project === undefined || role === undefined)
    throw new InvalidArgumentError('Write the project, a colon and the role.')
  return { project, role }
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
    columns: ['clientId', 'enabled', 'name'],
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
    text: 'fields',
  }),
  setting('rename', 'name', {
    description: 'Change what people call a user. Its client ID stays.',
    value: { placeholder: 'name', description: 'the new name' },
    change: (name) => ({ name }),
  }),
  call('enable', Methods.enableServiceUser, {
    description: 'Let a disabled user work again.',
    takes: { userId: USER },
  }),
  call('disable', Methods.disableServiceUser, {
    description: 'Stop a user: no new tokens, no calls. Tokens that it has stay valid elsewhere until they expire.',
    takes: { userId: USER },
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
  }),
  setting('client-credentials', 'client_credentials_enabled', {
    description: 'Let a user get tokens with the client credentials grant, or not.',
    value: ON_OFF,
    change: (position) => ({ clientCredentialsEnabled: position === 'on' }),
  }),
  setting('token-lifetime', 'token_lifetime', {
    description:
      'Set how long the access tokens of a user live from now on. "default" is KEYTURN_TOKEN_LIFETIME, which is also the limit.',
    value: { placeholder: 'time', description: 'such as 5m or 90s, or default', check: lifetimeIn },
    change: (time) => lifetimeIn(time),
  }),
  setting('token-claims', 'token_claims', {
    description: 'Set claims that each access token of a user has from now on, besides those that Keyturn sets.',
    value: { placeholder: 'json', description: `a JSON object, such as '{"tenant": "a"}'; '{}' for none` },
    change: (tokenClaims) => ({ tokenClaims }),
  }),
  setting('bound-tokens', 'bound_tokens_required', {
    description:
      'Give a user only tokens that are bound to a key (DPoP) or to a client certificate, or bearer tokens too. This command line makes no ' +
      'DPoP proofs.',
    value: { placeholder: 'rule', choices: ['required', 'optional'] },
    change: (rule) => ({ boundTokensRequired: rule === 'required' }),
  }),
  setting('certificate-bound-tokens', 'certificate_bound_tokens', {
    description:
      'Bind the tokens of a user to the client certificate with which it requests them, or take no notice of certificates (RFC 8705).',
    value: ON_OFF,
    change: (position) => ({ certificateBoundTokens: position === 'on' }),
  }),
  GRANT,
  REVOKE,
  userKeysCommand,
  userCertificatesCommand,
  userTokensCommand,
])

/** @throws {InvalidArgumentError} */
function lifetimeIn(text: string): Changes {
  return text === 'default' ? {} : { tokenLifetime: { seconds: parseDuration(text) } }
}
