/**
 * The contexts of the command line: named servers with the credentials of a user, and which of them is in use. They are one file, which
 * holds secrets: it is readable by its owner only, and is replaced atomically and durably.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '../domain/errors.ts'
import { isUrl, textMembers } from './credentials-file.ts'
import { replaceDurably } from './durable-file.ts'

/** Files for TLS. In a context they are absolute: certificates are renewed in place. */
export interface TlsFiles {
  readonly ca?: string | undefined
  readonly clientCert?: string | undefined
  readonly clientKey?: string | undefined
}

export type Context = Server & Caller

export type Caller =
  | { readonly client_id: string; readonly client_secret: string }
  | { readonly personal_access_token: string }

export interface Server extends TlsFiles {
  readonly base_url: string
  readonly token_endpoint: string
}

interface Stored {
  /** The name of the one in use; null if none is. */
  readonly current: string | null
  readonly contexts: ReadonlyMap<string, Context>
}

export class Contexts {
  readonly #path: string

  /** @param folder That of the user's configuration. */
  constructor(folder: string) {
    this.#path = join(folder, 'contexts.json')
  }

  /** @throws {Error} that says what to do, if the file is not one of contexts. */
  async all(): Promise<Stored> {
    const text = await readFile(this.#path, 'utf8').catch(onMissing)
    if (text === undefined) return { current: null, contexts: new Map() }
    const stored = parse(text)
    if (stored !== undefined) return stored
    throw new Error(`${this.#path} has no contexts: remove it, and log in again`)
  }

  /** @throws {Error} that says what to do, if there is no such context. */
  async read(name: string): Promise<Context> {
    const context = (await this.all()).contexts.get(name)
    if (context !== undefined) return context
    throw new Error(
      `there is no context ${JSON.stringify(name)}: "keyturn context list" prints those that exist, "keyturn login" makes one`,
    )
  }

  /** Stores one, in place of another one of the name, and makes it the one in use. */
  async use(name: string, context: Context): Promise<void> {
    const { contexts } = await this.all()
    await this.#write({ current: name, contexts: new Map(contexts).set(name, context) })
  }

  /** Removes one. If it was in use, none is then. @throws {Error} if there is no such context. */
  async remove(name: string): Promise<void> {
    await this.read(name)
    const { current, contexts } = await this.all()
    const left = [...contexts].filter(([each]) => each !== name)
    await this.#write({ current: current === name ? null : current, contexts: new Map(left) })
  }

  async #write({ current, contexts }: Stored): Promise<void> {
    const text = JSON.stringify({ current, contexts: Object.fromEntries(contexts) }, null, 2)
    const folder = dirname(this.#path)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await replaceDurably(this.#path, `${text}\n`)
    } catch (cause) {
      const reason = messageOf(cause)
      throw new Error(`cannot write ${this.#path}: ${reason}: make ${folder} writable, or choose XDG_CONFIG_HOME`, {
        cause,
      })
    }
  }
}

function onMissing(error: NodeJS.ErrnoException): undefined {
  // A home folder may be no folder, such as /dev/null.
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}

function parse(text: string): Stored | undefined {
  try {
    const { current, contexts } = JSON.parse(text)
    const parsed = Object.entries(contexts).map(([name, each]) => [name, contextOf(each)] as const)
    return { current: typeof current === 'string' ? current : null, contexts: new Map(parsed) }
  } catch {
    return undefined
  }
}

/** @throws {Error} if it is none. */
function contextOf(value: unknown): Context {
  const { base_url, token_endpoint, client_id, client_secret, personal_access_token, ...others } = textMembers(value)
  if (!isUrl(base_url) || !isUrl(token_endpoint)) throw new Error('no server')
  const { ca, clientCert, clientKey } = others
  const server = { base_url, token_endpoint, ca, clientCert, clientKey }
  if (client_id && client_secret) return { ...server, client_id, client_secret }
  if (personal_access_token) return { ...server, personal_access_token }
  throw new Error('no credentials')
}
