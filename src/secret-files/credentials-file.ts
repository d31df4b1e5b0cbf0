/** The file with an administrator's credentials: written by the server and by `recover`, read by the command line. */
import { type FileHandle, lstat, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DomainError, messageOf } from '../domain/errors.ts'
import { type Draft, writeDraft } from './durable-file.ts'

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
   * Stores them durably before they work, and gives them the name of the file once `change` has made them work.
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
  const { path, baseUrl, tokenEndpoint, onKept } = options
  return {
    async write({ clientId, clientSecret }, change = async () => {}) {
      const credentials: Credentials = {
        base_url: baseUrl,
        token_endpoint: tokenEndpoint,
        client_id: clientId,
        client_secret: clientSecret,
      }
      const draft = await prepare(path, `${JSON.stringify(credentials, null, 2)}\n`)
      try {
        await change()
      } catch (error) {
        if (mayBeStored(error))
          throw new Error(`${messageOf(error)}; then its credentials are in ${draft.path}`, { cause: error })
        await draft.discard()
        throw error
      }
      try {
        const kept = await keepAside(path)
        if (kept !== null) onKept(kept)
        await draft.publish()
      } catch (error) {
        // They may work, and there is no other copy.
        const place = `${draft.path}, or in ${path} if the renaming was not confirmed`
        throw new Error(`the credentials are in ${place}: ${messageOf(error)}`, { cause: error })
      }
    },
  }
}

async function prepare(path: string, text: string): Promise<Draft> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await assertReplaceable(path)
    return await writeDraft(path, text)
  } catch (error) {
    throw new Error(
      `cannot write the credentials file ${path}: ${messageOf(error)}: choose another with --credentials or KEYTURN_CREDENTIALS`,
      { cause: error },
    )
  }
}

function mayBeStored(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'change_outcome_unknown'
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
  const { base_url, token_endpoint, client_id, client_secret } = textMembers(text)
  if (!isUrl(base_url) || !isUrl(token_endpoint) || !client_id || !client_secret) return undefined
  return { base_url, token_endpoint, client_id, client_secret }
}

/**
 * The texts in a JSON object; none of anything else.
 *
 * By hand: every command reads the file with its credentials, and a library for schemas takes a sixth of the time of a command.
 */
export function textMembers(json: string): Readonly<Record<string, string | undefined>> {
  try {
    return Object.fromEntries(
      Object.entries(JSON.parse(json)).filter(([, value]) => typeof value === 'string'),
    ) as never
  } catch {
    return {}
  }
}

export function isUrl(text: string | undefined): text is string {
  return text !== undefined && URL.canParse(text)
}

/** @returns Whether there is a file to keep. @throws {Error} if something else than a file is there. */
async function assertReplaceable(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined)
  if (found !== undefined && !found.isFile()) throw new Error('there is something else than a file')
  return found !== undefined
}

/** @returns The new name of the file; null if there was none. */
async function keepAside(path: string): Promise<string | null> {
  if (!(await assertReplaceable(path))) return null
  const kept = `${path}.${new Date().toISOString().replaceAll(':', '')}.old`
  await rename(path, kept)
  return kept
}
