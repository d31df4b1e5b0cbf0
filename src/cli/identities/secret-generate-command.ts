/**
 * `keyturn secrets generate`: a new client secret, printed this once or written to a credentials file.
 */
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { Command } from 'commander'
import {
  type GenerateClientSecretResponse,
  GenerateClientSecretResponseSchema,
  ServiceUserService,
} from '../../../gen/iam/user/v2/service_user_service_pb.js'
import { openApiOf } from '../api-client.ts'
import { argumentOf, invoke, print } from '../api-command.ts'
import { findTarget } from '../connection/target.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { formatFields, formatMoment } from '../table.ts'
import { tokenEndpointOf } from '../token-request.ts'
import { expiresOption } from '../when.ts'
import { USER } from './references.ts'

interface GenerateOptions extends RemoteOptions {
  readonly expires?: Timestamp
  readonly out?: string
}

/** The command. */
export function generateSecretCommand(io: Io): Command {
  return withRemoteOptions(new Command('generate'))
    .description('Generate a client secret and print it, this once, or write it to a file.')
    .addArgument(argumentOf('userId', USER))
    .addOption(expiresOption())
    .option('--out <file>', 'write a credentials file instead of printing the secret; it must not exist yet')
    .action(async (user: string, options: GenerateOptions) => {
      const { out, expires } = options
      const target = await findTarget(io, options)
      const generate = async () => {
        const api = await openApiOf(target)
        const userId = await USER.resolve(user, api)
        return await invoke(api, ServiceUserService.method.generateClientSecret, {
          userId,
          ...(expires === undefined ? {} : { expirationDate: expires }),
        })
      }
      const response =
        out === undefined ? await generate() : await generateInto(resolve(out), await endpointsOf(target), generate)
      const { clientId, clientSecret, secret } = response
      // The secret is only in the file.
      const shown =
        out === undefined ? response : create(GenerateClientSecretResponseSchema, { ...response, clientSecret: '' })
      await print({ io, options }, GenerateClientSecretResponseSchema, shown, () => {
        const fields = formatFields([
          ['client ID', clientId],
          ...(out === undefined ? ([['client secret', clientSecret]] as const) : []),
          ['secret id', secret?.secretId ?? ''],
          ['expires', secret?.expirationDate === undefined ? 'never' : formatMoment(secret.expirationDate)],
          ...(out === undefined ? [] : ([['written to', out]] as const)),
        ])
        return out === undefined ? `${fields}\nThe secret is not shown again.` : fields
      })
    })
}

async function endpointsOf(target: Parameters<typeof tokenEndpointOf>[0]) {
  return { base_url: target.base_url, token_endpoint: await tokenEndpointOf(target) }
}

/**
 * Creates the file before the secret is generated, so that no secret is lost because the file cannot be written: readable by its owner
 * only, and never in the place of another one, which may hold the only copy of another secret.
 */
async function generateInto(
  path: string,
  endpoints: { readonly base_url: string; readonly token_endpoint: string },
  generate: () => Promise<GenerateClientSecretResponse>,
): Promise<GenerateClientSecretResponse> {
  const file = await openNew(path)
  try {
    const response = await generate()
    const { clientId: client_id, clientSecret: client_secret, secret } = response
    const text = `${JSON.stringify({ ...endpoints, client_id, client_secret }, null, 2)}\n`
    await file
      .writeFile(text)
      .then(() => file.sync())
      .catch((cause: unknown) => {
        throw new Error(
          `cannot write ${path} (${codeOf(cause)}): the secret ${secret?.secretId} was generated and is lost: ` +
            'delete it with "keyturn secrets delete"',
          { cause },
        )
      })
    return response
  } catch (error) {
    await unlink(path)
    throw error
  } finally {
    await file.close()
  }
}

async function openNew(path: string): Promise<FileHandle> {
  return await open(path, 'wx', 0o600).catch((cause: unknown) => {
    const code = codeOf(cause)
    const why = code === 'EEXIST' ? `${path} is there already` : `cannot write ${path} (${code})`
    const advice = code === 'EEXIST' ? '; name a new file' : ''
    throw new Error(`${why}: nothing was generated${advice}`, { cause })
  })
}

/** The error code of the system, such as `ENOSPC`. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
