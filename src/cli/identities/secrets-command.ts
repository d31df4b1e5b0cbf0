/**
 * `keyturn secrets generate | list | deactivate | delete`: the client secrets of a user (Spec §5).
 */
import { resolve } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { ClientSecret } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { call, group, list } from '../commands.ts'
import { option } from '../options.ts'
import { formatFields } from '../output.ts'
import { endpointsOf, fileTarget, generateInto } from '../secret-targets.ts'
import { ageOf, expirationFrom, expiresOption, formatMoment, isPast, timeLeft } from '../times.ts'
import { USER } from './references.ts'

const { method: Methods } = ServiceUserService

/** The group of commands. */
export const secretsCommand = group('secrets', [
  call('generate', Methods.generateClientSecret, {
    description: 'Generate a client secret and print it, this once, or write it to a file.',
    takes: { userId: USER },
    options: {
      expires: expiresOption(),
      out: option('--out <file>', 'write a credentials file instead of printing the secret; it must not exist yet'),
    },
    request: ({ userId }, { options }) => ({ userId, ...expirationFrom(options) }),
    async around(send, { userId }, { api, options }) {
      const { out } = options
      if (out === undefined) return await send()
      const target = fileTarget(resolve(out))
      if ((await target.look()) === 'taken')
        throw new Error(`${resolve(out)} is there already: nothing was generated; name a new file`)
      const endpoints = await endpointsOf(api.target)
      const response = await generateInto(target, api, { request: { userId, ...expirationFrom(options) }, endpoints })
      // The secret is only in the file.
      return create(Methods.generateClientSecret.output, { ...response, clientSecret: '' })
    },
    text({ clientId, clientSecret, secret }, _, { options: { out } }) {
      const fields = formatFields([
        ['client ID', clientId],
        ...(out === undefined ? ([['client secret', clientSecret]] as const) : []),
        ['secret id', secret?.secretId ?? ''],
        ['expires', secret?.expirationDate === undefined ? 'never' : formatMoment(secret.expirationDate)],
        ...(out === undefined ? [] : ([['written to', out]] as const)),
      ])
      return out === undefined ? `${fields}\nThe secret is not shown again.` : fields
    },
  }),
  list(Methods.listClientSecrets, 'secrets', {
    description: 'List the secrets of a user without the secrets, oldest first.',
    takes: { userId: USER },
    heading: ['SECRET ID', 'STATE', 'AGE', 'ENDS IN', 'LAST USE'],
    row: (secret) => [
      secret.secretId,
      stateOf(secret),
      ageOf(secret.creationDate),
      stateOf(secret) === 'live' ? timeLeft(secret.expirationDate) : '-',
      ageOf(secret.lastUseDate) || 'never',
    ],
  }),
  call('deactivate', Methods.deactivateClientSecret, {
    description: 'Stop a secret from working, for ever. It stays in the list.',
    takes: { userId: USER, secretId: {} },
    question: ({ secretId }) => `Deactivate the secret ${secretId} for good?`,
    text: (_, { secretId }) => `deactivated ${secretId}`,
  }),
  call('delete', Methods.deleteClientSecret, {
    description: 'Delete a secret, whether it works or not.',
    takes: { userId: USER, secretId: {} },
    question: ({ secretId }) => `Delete the secret ${secretId}?`,
    text: (_, { secretId }) => `deleted ${secretId}`,
  }),
])

function stateOf({ deactivationDate, expirationDate }: ClientSecret): 'live' | 'deactivated' | 'expired' {
  if (deactivationDate !== undefined) return 'deactivated'
  return expirationDate !== undefined && isPast(expirationDate) ? 'expired' : 'live'
}
