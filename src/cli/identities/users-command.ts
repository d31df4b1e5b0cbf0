/**
 * `keyturn users`: service users, what they may do, and the groups for their keys, certificates and tokens. Their client secrets are
 * `keyturn secrets`.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { call, type Declaration, group, list, type Parameter } from '../commands.ts'
import { option } from '../options.ts'
import { parseDuration } from '../times.ts'
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
