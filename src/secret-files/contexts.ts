/**
 * The contexts of the command line: named servers with the credentials of a user, one file each, and which of them is in use.
 *
 * The files hold secrets: they are readable by their owner only, and are written atomically and durably.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeDrafts, replaceDurably } from './durable-file.ts'

const FOLDER = 'contexts'
const SUFFIX = '.json'
/** Holds the name of the context in use. */
const CURRENT = 'current-context'

/** The members of a context that name files. */
const FILES = ['ca_file', 'client_cert_file', 'client_key_file'] as const

/** A file name everywhere, and a word for every shell. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

export type Context = Server & Caller

/** How a caller proves who it is. */
export type Caller = ContextClient | ContextToken

/** A server. */
export interface Server {
  readonly base_url: string
  readonly token_endpoint: string
  /** Files, by their absolute paths: certificates are renewed in place. */
  readonly ca_file?: string
  readonly client_cert_file?: string
  readonly client_key_file?: string
}

interface ContextClient {
  readonly client_id: string
  readonly client_secret: string
}

interface ContextToken {
  readonly personal_access_token: string
}

export interface Contexts {
  /** The names, in order. */
  names(): Promise<string[]>
  /** The name of the one in use; null if none is. */
  current(): Promise<string | null>
  /** @throws {Error} that says what to do, if there is no such context or its file is not one. */
  read(name: string): Promise<Context>
  /** Stores one, in place of another one of the name. @throws {Error} if the name cannot be one. */
  write(name: string, context: Context): Promise<void>
  /** Makes one the one in use. @throws {Error} if there is no such context. */
  use(name: string): Promise<void>
  /** Removes one. If it was in use, none is then. @throws {Error} if there is no such context. */
  remove(name: string): Promise<void>
}

export function isContextName(name: string): boolean {
  return NAME.test(name)
}

export function openContexts(folder: string): Contexts {
  const fileOf = (name: string) => join(folder, FOLDER, `${name}${SUFFIX}`)
  const currentFile = join(folder, CURRENT)

  const names = async (): Promise<string[]> => {
    const files = await readdir(join(folder, FOLDER)).catch(onMissing([]))
    return files
      .filter((file) => file.endsWith(SUFFIX))
      .map((file) => file.slice(0, -SUFFIX.length))
      .filter(isContextName)
      .sort()
  }
  const current = async (): Promise<string | null> => {
    const name = (await readFile(currentFile, 'utf8').catch(onMissing(''))).trim()
    return isContextName(name) ? name : null
  }
  const assertExists = async (name: string): Promise<void> => {
    if ((await names()).includes(name)) return
    throw new Error(
      `there is no context ${JSON.stringify(name)}: "keyturn context list" prints those that exist, "keyturn login" makes one`,
    )
  }
  const write = async (path: string, text: string): Promise<void> => {
    try {
      await mkdir(join(folder, FOLDER), { recursive: true, mode: 0o700 })
      await replaceDurably(path, text)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new Error(`cannot write ${path}: ${reason}: make ${folder} writable, or choose XDG_CONFIG_HOME`, { cause })
    }
  }
  return {
    names,
    current,
    async read(name) {
      await assertExists(name)
      const context = parseContext(await readFile(fileOf(name), 'utf8'))
      if (context !== undefined) return context
      throw new Error(
        `${fileOf(name)} is not a context: remove it with "keyturn context remove ${name}", and log in again`,
      )
    },
    async write(name, context) {
      if (!isContextName(name)) throw new Error(CONTEXT_NAME_ADVICE)
      await write(fileOf(name), `${JSON.stringify(context, null, 2)}\n`)
    },
    async use(name) {
      await assertExists(name)
      await write(currentFile, `${name}\n`)
    },
    async remove(name) {
      await assertExists(name)
      // First: a name in use without a file would be an error of every command.
      if ((await current()) === name) await rm(currentFile, { force: true })
      await removeDrafts(fileOf(name))
      await rm(fileOf(name))
    },
  }
}

/** What a name must look like. */
export const CONTEXT_NAME_ADVICE =
  'the name of a context has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit'

function onMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    // A home folder may be no folder, such as /dev/null.
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code))) return value
    throw error
  }
}

/** By hand: every command reads the file in use, and a library for schemas takes a sixth of the time of a command. */
function parseContext(text: string): Context | undefined {
  const { base_url, token_endpoint, client_id, client_secret, personal_access_token, ...rest } = membersOf(text)
  if (!isUrl(base_url) || !isUrl(token_endpoint)) return undefined
  const files = filesIn(rest)
  if (files === undefined) return undefined
  const server = { base_url, token_endpoint, ...files }
  if (isText(client_id) && isText(client_secret)) return { ...server, client_id, client_secret }
  return isText(personal_access_token) ? { ...server, personal_access_token } : undefined
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

/** Undefined if one is no path. */
function filesIn(members: Readonly<Record<string, unknown>>) {
  const files: { -readonly [name in (typeof FILES)[number]]?: string } = {}
  for (const name of FILES) {
    const file = members[name]
    if (file === undefined) continue
    if (typeof file !== 'string') return undefined
    files[name] = file
  }
  return files
}

function isUrl(value: unknown): value is string {
  return isText(value) && URL.canParse(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
