/**
 * Where a new client secret is handed over to: `file:///path` or `command:program arguments`.
 */
import { access, constants, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type GenerateClientSecretResponse, ServiceUserService } from '../../gen/iam/user/v2/service_user_service_pb.js'
import type { Credentials } from '../secret-files/credentials-file.ts'
import { createDurably } from '../secret-files/durable-file.ts'
import { runProgram } from '../secret-files/run-program.ts'
import type { Api } from './api.ts'
import type { Target } from './connection/target.ts'
import { tokenEndpointOf } from './connection/token-request.ts'
import { describeFailure } from './failure.ts'
import type { Io } from './io.ts'

const { method: Methods } = ServiceUserService

/** How long a program may take, in milliseconds. */
const TIMEOUT = 60_000
/** How much of what a program prints is in an error, in characters: so much less than is kept that no secret is cut at its end. */
const MAX_CHARACTERS = 4096

export interface SecretTarget {
  /** Whether something is there. `unknown`: it cannot be asked. @throws {Error} if the target cannot be used. */
  look(): Promise<'empty' | 'taken' | 'unknown'>
  /** Stores credentials there, and replaces nothing. @throws {Error} that does not contain the secret. */
  handOver(credentials: Credentials): Promise<void>
}

/** Where the server is, which is part of the credentials. */
export type Endpoints = Pick<Credentials, 'base_url' | 'token_endpoint'>

export async function endpointsOf(target: Target): Promise<Endpoints> {
  return { base_url: target.base_url, token_endpoint: await tokenEndpointOf(target) }
}

/** Generates a secret and hands it over. One that cannot be handed over is deleted again. */
export async function generateInto(
  target: SecretTarget,
  api: Api,
  {
    request,
    endpoints,
  }: { readonly request: MessageInitShape<typeof Methods.generateClientSecret.input>; readonly endpoints: Endpoints },
): Promise<GenerateClientSecretResponse> {
  const response = await api.call(Methods.generateClientSecret, request)
  const { clientId, clientSecret, secret } = response
  const { secretId = '' } = secret ?? {}
  try {
    await target.handOver({ ...endpoints, client_id: clientId, client_secret: clientSecret })
    return response
  } catch (error) {
    const reason = describeFailure(error)
    await api.call(Methods.deleteClientSecret, { userId: request.userId ?? '', secretId }).catch((failure: unknown) => {
      const advice = `(${describeFailure(failure)}): delete it with "keyturn secrets delete"`
      throw new Error(`${reason}; the secret ${secretId} could not be deleted again ${advice}`)
    })
    throw new Error(`${reason}; the secret was deleted again`)
  }
}

/** The target of a `generateSecret.into`, which has been checked. */
export function secretTarget({ env }: Pick<Io, 'env'>, into: string): SecretTarget {
  return into.startsWith('file:') ? fileTarget(fileURLToPath(into)) : commandTarget(env, into.slice('command:'.length))
}

/** A new credentials file: for its owner only, whole or not at all, and never in place of another. */
export function fileTarget(path: string): SecretTarget {
  return {
    async look() {
      const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
      })
      if (found !== undefined) return 'taken'
      await access(dirname(path), constants.W_OK).catch((cause: unknown) => {
        throw new Error(`cannot write into ${dirname(path)}`, { cause })
      })
      return 'empty'
    },
    async handOver(credentials) {
      const text = `${JSON.stringify(credentials, null, 2)}\n`
      await createDurably(path, text).catch((cause: NodeJS.ErrnoException) => {
        throw new Error(`cannot write ${path} (${cause.code})`, { cause })
      })
    },
  }
}

/** A program that gets credentials as JSON on its standard input. The command has blanks between its arguments. */
function commandTarget(env: Io['env'], command: string): SecretTarget {
  const argv = command.trim().split(/\s+/)
  return {
    look: async () => 'unknown',
    async handOver(credentials) {
      const ended = await runProgram(argv, { env, timeout: TIMEOUT, input: `${JSON.stringify(credentials)}\n` })
      if (ended.problem !== undefined)
        throw new Error(`${argv[0]} ${ended.problem}${withoutSecret(ended.stderr, credentials.client_secret)}`)
    },
  }
}

/** What a program said, in one line, as everything that a command says of one secret. */
function withoutSecret(stderr: string, secret: string): string {
  const said = [secret, Buffer.from(secret).toString('base64')]
    .reduce((text, each) => text.replaceAll(each, '***'), stderr)
    .slice(0, MAX_CHARACTERS)
    .trim()
  return said === '' ? '' : `: ${said.replaceAll(/\s*\n\s*/g, '; ')}`
}
