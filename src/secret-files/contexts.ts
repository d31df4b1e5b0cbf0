/**
 * The contexts of the command line: named servers with the credentials of a user, one file each, and which of them is in use.
 *
 * The files hold secrets: they are readable by their owner only, and are written atomically and durably.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '../domain/errors.ts'
import { isUrl, textMembers } from './credentials-file.ts'
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

export type Caller =
  | { readonly client_id: string; readonly client_secret: string }
  | { readonly personal_access_token: string }

export interface Server {
  readonly base_url: string
  readonly token_endpoint: string
  /** Files, by their absolute paths: certificates are renewed in place. */
  readonly ca_file?: string
  readonly client_cert_file?: string
  readonly client_key_file?: string
}

export function isContextName(name: string): boolean {
  return NAME.test(name)
}

export class Contexts {
  readonly #folder: string
  readonly #currentFile: string

  /** @param folder That of the user's configuration. */
  constructor(folder: string) {
    this.#folder = join(folder, FOLDER)
    this.#currentFile = join(folder, CURRENT)
  }

  async names(): Promise<string[]> {
    const files = await readdir(this.#folder).catch(onMissing([]))
    return files
      .filter((file) => file.endsWith(SUFFIX))
      .map((file) => file.slice(0, -SUFFIX.length))
      .filter(isContextName)
      .sort()
  }

  /** The name of the one in use; null if none is. */
  async current(): Promise<string | null> {
    const name = (await readFile(this.#currentFile, 'utf8').catch(onMissing(''))).trim()
    return isContextName(name) ? name : null
  }

  /** @throws {Error} that says what to do, if there is no such context or its file is not one. */
  async read(name: string): Promise<Context> {
    await this.#assertExists(name)
    const file = this.#fileOf(name)
    const context = parseContext(await readFile(file, 'utf8'))
    if (context !== undefined) return context
    throw new Error(`${file} is not a context: remove it with "keyturn context remove ${name}", and log in again`)
  }

  /** Stores one, in place of another one of the name. @throws {Error} if the name cannot be one. */
  async write(name: string, context: Context): Promise<void> {
    if (!isContextName(name)) throw new Error(CONTEXT_NAME_ADVICE)
    await this.#write(this.#fileOf(name), `${JSON.stringify(context, null, 2)}\n`)
  }

  /** Makes one the one in use. @throws {Error} if there is no such context. */
  async use(name: string): Promise<void> {
    await this.#assertExists(name)
    await this.#write(this.#currentFile, `${name}\n`)
  }

  /** Removes one. If it was in use, none is then. @throws {Error} if there is no such context. */
  async remove(name: string): Promise<void> {
    await this.#assertExists(name)
    // First: a name in use without a file would be an error of every command.
    if ((await this.current()) === name) await rm(this.#currentFile, { force: true })
    await removeDrafts(this.#fileOf(name))
    await rm(this.#fileOf(name))
  }

  #fileOf(name: string): string {
    return join(this.#folder, `${name}${SUFFIX}`)
  }

  async #assertExists(name: string): Promise<void> {
    if ((await this.names()).includes(name)) return
    throw new Error(
      `there is no context ${JSON.stringify(name)}: "keyturn context list" prints those that exist, "keyturn login" makes one`,
    )
  }

  async #write(path: string, text: string): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await replaceDurably(path, text)
    } catch (cause) {
      const folder = dirname(this.#folder)
      const reason = messageOf(cause)
      throw new Error(`cannot write ${path}: ${reason}: make ${folder} writable, or choose XDG_CONFIG_HOME`, { cause })
    }
  }
}

export const CONTEXT_NAME_ADVICE =
  'the name of a context has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit'

function onMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    // A home folder may be no folder, such as /dev/null.
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code))) return value
    throw error
  }
}

function parseContext(text: string): Context | undefined {
  const { base_url, token_endpoint, client_id, client_secret, personal_access_token, ...others } = textMembers(text)
  if (!isUrl(base_url) || !isUrl(token_endpoint)) return undefined
  const files = Object.fromEntries(FILES.flatMap((name) => (others[name] === undefined ? [] : [[name, others[name]]])))
  const server = { base_url, token_endpoint, ...files }
  if (client_id && client_secret) return { ...server, client_id, client_secret }
  return personal_access_token ? { ...server, personal_access_token } : undefined
}
