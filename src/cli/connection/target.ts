/**
 * Which server a command calls, and as whom. What is named on the command line wins over variables, variables over the context in
 * use, and that over the credentials file in the data directory of the working folder.
 */
import { parseBaseUrl } from '../../config/base-url.ts'
import { clientVariable, credentialsFileFrom, namesCredentials, userConfigFolder } from '../../config/environment.ts'
import { type Caller, Contexts, type Server, type TlsFiles } from '../../secret-files/contexts.ts'
import { readCredentials } from '../../secret-files/credentials-file.ts'
import type { Io } from '../io.ts'
import { readTlsFiles, type TlsOptions, tlsFilesFrom } from './tls-files.ts'

export interface ConnectionOptions extends TlsFiles {
  readonly credentials?: string | undefined
  readonly context?: string | undefined
}

/** What a context or a credentials file has. Without a token endpoint, discovery has to find it. */
type Found = Caller & Omit<Server, 'token_endpoint'> & Partial<Pick<Server, 'token_endpoint'>>

/** A server, a caller of it, and what is in the files for TLS. */
export type Target = Found & { readonly tls: TlsOptions }

/** @throws {Error} that says what to do, if a file that is named cannot be read. */
export async function findTarget(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Target> {
  const found = await find(io, options)
  assertSecretsAreSafe(found.base_url)
  if (found.token_endpoint !== undefined) assertSecretsAreSafe(found.token_endpoint)
  return { ...found, tls: await readTlsFiles(tlsFilesFrom(io, options, found)) }
}

/** The contexts of the user. @throws {Error} if the user has no home folder. */
export function contextsOf({ env }: Pick<Io, 'env'>): Contexts {
  const folder = userConfigFolder(env)
  if (folder !== null) return new Contexts(folder)
  throw new Error('there is no folder for contexts: set HOME, or XDG_CONFIG_HOME to an absolute path')
}

async function find(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Found> {
  const { env } = io
  const inFile = (file: string) => readCredentials(file, { mustBeOwn: true })
  if (options.credentials !== undefined) return await inFile(credentialsFileFrom(options, env))
  if (options.context !== undefined) return await contextsOf(io).read(options.context)
  const token = clientVariable(env, 'KEYTURN_TOKEN')
  if (token !== undefined) return { base_url: baseUrlForToken(env), personal_access_token: token }
  const named = clientVariable(env, 'KEYTURN_CONTEXT')
  if (named !== undefined) return await contextsOf(io).read(named)
  if (!namesCredentials(env) && userConfigFolder(env) !== null) {
    const { current } = await contextsOf(io).all()
    if (current !== null) return await contextsOf(io).read(current)
  }
  return await inFile(credentialsFileFrom({}, env))
}

/** Never the address in a file: the one in the working folder may come with a repository. */
function baseUrlForToken(env: Io['env']): string {
  const baseUrl = clientVariable(env, 'KEYTURN_BASE_URL')
  if (baseUrl === undefined) {
    throw new Error('KEYTURN_TOKEN is sent to the address in KEYTURN_BASE_URL and to no other: set KEYTURN_BASE_URL')
  }
  return parseBaseUrl(baseUrl, (problem) => {
    throw new Error(`KEYTURN_BASE_URL ${problem}`)
  })
}

/** @throws {Error} if a secret would go to another host in clear. */
export function assertSecretsAreSafe(url: string): void {
  parseBaseUrl(new URL(url).origin, (problem) => {
    throw new Error(`the address ${url} ${problem}`)
  })
}
