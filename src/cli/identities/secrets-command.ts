/**
 * `keyturn secrets generate | list | deactivate | delete`: the client secrets of a user (Spec §5).
 */
import type { ClientSecret } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { call, group, list } from '../api-command.ts'
import { ageOf, isPast, timeLeft } from '../table.ts'
import { USER } from './references.ts'
import { generateSecretCommand } from './secret-generate-command.ts'

const { method: Methods } = ServiceUserService

/** The group of commands. */
export const secretsCommand = group('secrets', '', [
  generateSecretCommand,
  list({
    name: 'list',
    description: 'List the secrets of a user without the secrets, oldest first.',
    takes: { userId: USER },
    method: Methods.listClientSecrets,
    items: 'secrets',
    heading: ['SECRET ID', 'STATE', 'AGE', 'ENDS IN', 'LAST USE'],
    row,
  }),
  call({
    name: 'deactivate',
    description: 'Stop a secret from working, for ever. It stays in the list.',
    takes: { userId: USER, secretId: {} },
    method: Methods.deactivateClientSecret,
    question: ({ secretId }) => `Deactivate the secret ${secretId} for good?`,
    text: (_, { secretId }) => `deactivated ${secretId}`,
  }),
  call({
    name: 'delete',
    description: 'Delete a secret, whether it works or not.',
    takes: { userId: USER, secretId: {} },
    method: Methods.deleteClientSecret,
    question: ({ secretId }) => `Delete the secret ${secretId}?`,
    text: (_, { secretId }) => `deleted ${secretId}`,
  }),
])

function row(secret: ClientSecret): string[] {
  const state = stateOf(secret)
  return [
    secret.secretId,
    state,
    ageOf(secret.creationDate),
    state === 'live' ? timeLeft(secret.expirationDate) : '-',
    secret.lastUseDate === undefined ? 'never' : ageOf(secret.lastUseDate),
  ]
}

function stateOf({ deactivationDate, expirationDate }: ClientSecret): 'live' | 'deactivated' | 'expired' {
  if (deactivationDate !== undefined) return 'deactivated'
  return expirationDate !== undefined && isPast(expirationDate) ? 'expired' : 'live'
}
