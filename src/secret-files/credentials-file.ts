/** The file with an administrator's credentials: written by the server and by `recover`, read by the command line. */
import { type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DomainError, messageOf } from '../domain/errors.ts'
import { replaceDurably } from './durable-file.ts'

export interface Credentials {
  readonly base_url: string
  readonly token_endpoint: string
  readonly client_id: string
  readonly client_secret: string
}

interface NewCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

export interface CredentialsFile {
  /**
   * Stores them durably before `change` makes them work.
   *
   * @param change Default: they work already, or will.
   * @throws {Error} what `change` throws. If it may have been stored all the same, the message says where the credentials are.
   */
  write(credentials: NewCredentials, change?: () => Promise<void>): Promise<void>
}

export interface CredentialsFileOptions {
  readonly path: string
  /** Called with the new name of a credentials file that was there already, as that of another instance. */
  readonly onKept: (path: string) => void
  readonly baseUrl: string
  readonly tokenEndpoint: string
}

/**
 * Writes the file, readable by its owner only. A crash leaves a whole file or none. An existing file is renamed and
 * kept beside it: it may hold the only secret of another instance.
 */
export function credentialsFile(options: CredentialsFileOptions): CredentialsFile {
  const { path, baseUrl, tokenEndpoint } = options
  return {
    async write({ clientId, clientSecret }, change = async () => {}) {
      const kept = await writeInPlace(options, {
        base_url: baseUrl,
        token_endpoint: tokenEndpoint,
        client_id: clientId,
        client_secret: clientSecret,
      })
      const before = kept === null ? '' : `, and those before in ${kept}`
      try {
        await change()
      } catch (error) {
        if (error instanceof DomainError && error.code === 'change_outcome_unknown')
          throw new Error(`${error.message}; then its credentials are in ${path}${before}`, { cause: error })
        await (kept === null ? rm(path) : rename(kept, path)).catch(() => {})
        throw error
      }
    },
  }
}

/** @returns Where the file is that was there; null if there was none. */
async function writeInPlace(
  { path, onKept }: CredentialsFileOptions,
  credentials: Credentials,
): Promise<string | null> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const found = await lstat(path).catch(() => undefined)
    if (found !== undefined && !found.isFile()) throw new Error('there is something else than a file')
    const kept = found === undefined ? null : `${path}.${new Date().toISOString().replaceAll(':', '')}.old`
    if (kept !== null) {
      await rename(path, kept)
      // Before what may fail: nothing else says where they are.
      onKept(kept)
    }
    await replaceDurably(path, `${JSON.stringify(credentials, null, 2)}\n`).catch(async (error: unknown) => {
      if (kept !== null) await rename(kept, path).catch(() => {})
      throw error
    })
    return kept
  } catch (error) {
    throw new Error(
      `cannot write the credentials file ${path}: ${messageOf(error)}: choose another with --credentials or KEYTURN_CREDENTIALS`,
      { cause: error },
    )
  }
}

/**
 * Reads the file.
 *
 * @param mustBeOwn Refuses a file that somebody else than this user and root can have written, as it may come with the folder that a
 * command is started in.
 * @throws {Error} that says what to do, if the file is missing or is not a credentials file.
 */
export async function readCredentials(path: string, { mustBeOwn = false } = {}): Promise<Credentials> {
  const file = await open(path).catch((cause: unknown) => {
    throw new Error(
      `cannot read the credentials file ${path}: name one with --credentials or KEYTURN_CREDENTIALS; ` +
        '"keyturn serve" writes it when it starts on an empty database',
      { cause },
    )
  })
  try {
    if (mustBeOwn) await assertOwn(path, file)
    const credentials = parseCredentials(await file.readFile('utf8'))
    if (credentials !== undefined) return credentials
  } finally {
    await file.close()
  }
  throw new Error(
    `${path} is not a credentials file: it must be JSON with base_url, token_endpoint, client_id and client_secret`,
  )
}

async function assertOwn(path: string, file: FileHandle): Promise<void> {
  const { uid, mode } = await file.stat()
  const user = process.geteuid?.()
  // Windows has neither.
  if (user === undefined) return
  const isOwn = uid === user || uid === 0
  if (isOwn && (mode & 0o022) === 0) return
  throw new Error(
    `${path} is not used, because ${isOwn ? 'others can write it' : 'it belongs to another user'}: look at its content; ` +
      'if you trust it, make it yours (chown) and writable by nobody else (chmod go-w)',
  )
}

function parseCredentials(text: string): Credentials | undefined {
  const { base_url, token_endpoint, client_id, client_secret } = textMembers(parseJson(text))
  if (!isUrl(base_url) || !isUrl(token_endpoint) || !client_id || !client_secret) return undefined
  return { base_url, token_endpoint, client_id, client_secret }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The texts in an object; none of anything else.
 *
 * By hand: every command reads the file with its credentials, and a library for schemas takes a sixth of the time of a command.
 */
export function textMembers(value: unknown): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(Object(value)).filter(([, each]) => typeof each === 'string')) as never
}

export function isUrl(text: string | undefined): text is string {
  return text !== undefined && URL.canParse(text)
}
