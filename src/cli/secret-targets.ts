/**
 * Where a new client secret is handed over to: `file:///path` or `command:program arguments`.
 */
import { spawn } from 'node:child_process'
import { access, constants, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type GenerateClientSecretResponse, ServiceUserService } from '../../gen/iam/user/v2/service_user_service_pb.js'
import type { Credentials } from '../secret-files/credentials-file.ts'
import { createDurably } from '../secret-files/durable-file.ts'
import type { Api } from './api.ts'
import type { Target } from './connection/target.ts'
import { tokenEndpointOf } from './connection/token-request.ts'
import { describeFailure } from './failure.ts'
import type { Io } from './io.ts'

const { method: Methods } = ServiceUserService

const TIME_LIMIT_MILLIS = 60_000
/** For what a program printed before it ended: a child of it may hold its output open. */
const OUTPUT_MILLIS = 1000
/** How much of what a program prints is in an error, in characters. */
const MAX_CHARACTERS = 4096
/** How much of it is kept: so much more that a secret which is cut at its end, and so not replaced, is not in the error. */
const KEPT_CHARACTERS = 64 * MAX_CHARACTERS

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

/** A program that gets credentials as JSON on its standard input. No shell reads the command, which has blanks between its arguments. */
function commandTarget(env: Io['env'], command: string): SecretTarget {
  const [program = '', ...args] = command.trim().split(/\s+/)
  return {
    look: async () => 'unknown',
    async handOver(credentials) {
      const ending = await run(program, args, { env, input: `${JSON.stringify(credentials)}\n` })
      if (ending.code !== 0) throw new Error(describe(program, ending, credentials.client_secret))
    },
  }
}

interface Ending {
  /** An exit code, or the reason why it did not start. Null: a signal ended it. */
  readonly code: number | string | null
  readonly signal?: string | null
  /** Whether it was ended after its minute. */
  readonly isLate: boolean
  /** The beginning of what it printed there. */
  readonly stderr: string
}

/** Runs a program for a minute at most, with an input that may hold a secret. What it prints on its standard output is kept nowhere. */
function run(
  program: string,
  args: readonly string[],
  { env, input }: { readonly env: Io['env']; readonly input: string },
): Promise<Ending> {
  const child = spawn(program, args, {
    env: { ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: TIME_LIMIT_MILLIS,
    killSignal: 'SIGKILL',
  })
  return new Promise((resolve) => {
    let stderr = ''
    child.on('error', ({ code = '' }: NodeJS.ErrnoException) => resolve({ code, isLate: false, stderr }))
    child.on('exit', () => setTimeout(() => child.stderr.destroy(), OUTPUT_MILLIS).unref())
    child.on('close', (code, signal) => resolve({ code, signal, isLate: code === null && child.killed, stderr }))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < KEPT_CHARACTERS) stderr += text
    })
    // A program that reads none of it may close its end first. Its exit code says whether that was right.
    child.stdin.on('error', () => {}).end(input)
  })
}

/** In one line, as everything that a command says of one secret. */
function describe(program: string, { code, signal, isLate, stderr }: Ending, secret: string): string {
  if (typeof code === 'string') return `cannot run ${program}: ${code}`
  if (isLate) return `${program} took more than a minute, and was ended`
  const lines = [secret, Buffer.from(secret).toString('base64')]
    .reduce((text, each) => text.replaceAll(each, '***'), stderr)
    .slice(0, MAX_CHARACTERS)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const end = `${program} ended with ${code === null ? signal : `exit code ${code}`}`
  return lines.length === 0 ? end : `${end}: ${lines.join('; ')}`
}
