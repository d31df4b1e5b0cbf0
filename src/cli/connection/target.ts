/**
 * Which server a command calls, and as whom. What is named on the command line wins over variables, variables over the context in
 * use, and that over the credentials file in the data directory of the working folder.
 */
import { parseBaseUrl } from '../../config/base-url.ts'
import { clientVariable, namesCredentials, userConfigFolder } from '../../config/client-settings.ts'
import { credentialsFileFrom } from '../../config/environment.ts'
import type { Context, Contexts } from '../../secret-files/contexts.ts'
import { openContexts } from '../../secret-files/contexts.ts'
import { readCredentials } from '../../secret-files/credentials-file.ts'
import type { Io } from '../io.ts'
import { readTlsFiles, type TlsFiles, type TlsOptions, tlsFilesFrom } from './tls-files.ts'

/** The values of the options of `withConnectionOptions`. */
export interface ConnectionOptions extends TlsFiles {
  readonly credentials?: string | undefined
  readonly context?: string | undefined
}

/** How a caller proves who it is. */
export type Identity =
  | { readonly kind: 'client'; readonly clientId: string; readonly clientSecret: string }
  | { readonly kind: 'personal access token'; readonly token: string }

/** A server, and a caller of it. */
export interface Target {
  readonly baseUrl: string
  /** Undefined: discovery has to find it. */
  readonly tokenEndpoint: string | undefined
  readonly identity: Identity
  readonly tls: TlsOptions
}

/** A target whose TLS files are not read yet. */
interface Found extends Omit<Target, 'tls'> {
  readonly files: TlsFiles
}

/**
 * Finds the server, the caller and the files for TLS.
 *
 * @throws {Error} that says what to do, if a file that is named cannot be read.
 */
export async function findTarget(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Target> {
  const { files, ...found } = await find(io, options)
  assertSecretsAreSafe(found.baseUrl)
  if (found.tokenEndpoint !== undefined) assertSecretsAreSafe(found.tokenEndpoint)
  return { ...found, tls: await readTlsFiles({ ...files, ...tlsFilesFrom(io, options) }) }
}

/** The contexts of the user. @throws {Error} if the user has no home folder. */
export function contextsOf({ env }: Pick<Io, 'env'>): Contexts {
  const folder = userConfigFolder(env)
  if (folder !== null) return openContexts(folder)
  throw new Error('there is no folder for contexts: set HOME, or XDG_CONFIG_HOME to an absolute path')
}

async function find(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Found> {
  const { env } = io
  if (options.credentials !== undefined) return await inFile(credentialsFileFrom(options, env))
  if (options.context !== undefined) return await inContext(contextsOf(io), options.context)
  const token = clientVariable(env, 'KEYTURN_TOKEN')
  if (token !== undefined) return withToken(token, clientVariable(env, 'KEYTURN_BASE_URL'))
  const named = clientVariable(env, 'KEYTURN_CONTEXT')
  if (named !== undefined) return await inContext(contextsOf(io), named)
  if (!namesCredentials(env) && userConfigFolder(env) !== null) {
    const contexts = contextsOf(io)
    const current = await contexts.current()
    if (current !== null) return await inContext(contexts, current)
  }
  return await inFile(credentialsFileFrom({}, env))
}

/** Never to the address in a file: the one in the working folder may come with a repository. */
function withToken(token: string, baseUrl: string | undefined): Found {
  if (baseUrl === undefined) {
    throw new Error('KEYTURN_TOKEN is sent to the address in KEYTURN_BASE_URL and to no other: set KEYTURN_BASE_URL')
  }
  const identity = { kind: 'personal access token', token } as const
  return { baseUrl: checkedUrl(baseUrl), tokenEndpoint: undefined, identity, files: {} }
}

/** @throws {Error} if a secret would go to another host in clear. */
export function assertSecretsAreSafe(url: string): void {
  parseBaseUrl(new URL(url).origin, (problem) => {
    throw new Error(`the address ${url} ${problem}`)
  })
}

function checkedUrl(text: string): string {
  return parseBaseUrl(text, (problem) => {
    throw new Error(`KEYTURN_BASE_URL ${problem}`)
  })
}

async function inFile(path: string): Promise<Found> {
  const { base_url, token_endpoint, client_id, client_secret } = await readCredentials(path, { mustBeOwn: true })
  return {
    baseUrl: base_url,
    tokenEndpoint: token_endpoint,
    identity: { kind: 'client', clientId: client_id, clientSecret: client_secret },
    files: {},
  }
}

async function inContext(contexts: Contexts, name: string): Promise<Found> {
  const context = await contexts.read(name)
  return {
    baseUrl: context.base_url,
    tokenEndpoint: context.token_endpoint,
    identity: identityOf(context),
    files: { ca: context.ca_file, clientCert: context.client_cert_file, clientKey: context.client_key_file },
  }
}

function identityOf(context: Context): Identity {
  return 'client_id' in context
    ? { kind: 'client', clientId: context.client_id, clientSecret: context.client_secret }
    : { kind: 'personal access token', token: context.personal_access_token }
}
