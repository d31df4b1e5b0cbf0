/**
 * `keyturn secrets generate`: a new client secret, printed this once or written to a credentials file.
 */
import { resolve } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { Command } from 'commander'
import {
  type GenerateClientSecretResponse,
  GenerateClientSecretResponseSchema,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { findTarget } from '../connection/target.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { formatFields, formatMoment } from '../table.ts'
import { tokenEndpointOf } from '../token-request.ts'
import { expiresOption } from '../when.ts'
import { codeOf, reserveCredentialsFile } from './new-credentials-file.ts'
import { openUser, type UserReference, userArgument } from './references.ts'

interface GenerateOptions extends RemoteOptions {
  readonly expires?: Timestamp
  readonly out?: string
}

/** The command. */
export function generateSecretCommand(io: Io): Command {
  return withRemoteOptions(new Command('generate'))
    .description('Generate a client secret and print it, this once, or write it to a file.')
    .addArgument(userArgument())
    .addOption(expiresOption())
    .option('--out <file>', 'write a credentials file instead of printing the secret; it must not exist yet')
    .action(async (user: UserReference, options: GenerateOptions) => {
      const { out } = options
      if (out === undefined) {
        const response = await generate(io, user, options)
        print(io, options, GenerateClientSecretResponseSchema, response, () =>
          [
            formatFields([
              ['client ID', response.clientId],
              ['client secret', response.clientSecret],
              ...fieldsOf(response),
            ]),
            'The secret is not shown again.',
          ].join('\n'),
        )
        return
      }
      const response = await generateInto(io, resolve(out), user, options)
      // The secret is only in the file.
      const shown = create(GenerateClientSecretResponseSchema, { ...response, clientSecret: '' })
      print(io, options, GenerateClientSecretResponseSchema, shown, () =>
        formatFields([['client ID', response.clientId], ...fieldsOf(response), ['written to', out]]),
      )
    })
}

async function generate(io: Io, user: UserReference, options: GenerateOptions): Promise<GenerateClientSecretResponse> {
  const { expires } = options
  const { users, userId } = await openUser(io, options, user)
  return await users.generateClientSecret({ userId, ...(expires === undefined ? {} : { expirationDate: expires }) })
}

async function generateInto(
  io: Io,
  path: string,
  user: UserReference,
  options: GenerateOptions,
): Promise<GenerateClientSecretResponse> {
  const target = await findTarget(io, options)
  const { baseUrl: base_url } = target
  const token_endpoint = await tokenEndpointOf(target)
  const file = await reserveCredentialsFile(path)
  try {
    const response = await generate(io, user, options)
    const { clientId: client_id, clientSecret: client_secret, secret } = response
    await file.write({ base_url, token_endpoint, client_id, client_secret }).catch((cause: unknown) => {
      throw new Error(
        `cannot write ${path} (${codeOf(cause)}): the secret ${secret?.secretId} was generated and is lost: ` +
          'delete it with "keyturn secrets delete"',
        { cause },
      )
    })
    return response
  } catch (error) {
    await file.discard()
    throw error
  }
}

function fieldsOf({ secret }: GenerateClientSecretResponse): [string, string][] {
  const { secretId = '', expirationDate } = secret ?? {}
  return [
    ['secret id', secretId],
    ['expires', expirationDate === undefined ? 'never' : formatMoment(expirationDate)],
  ]
}
