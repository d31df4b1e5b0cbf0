/**
 * The file with the first administrator's credentials: written once by the server, read by the command line.
 */
import { lstat, mkdir, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { CredentialsSink } from '../app/bootstrap.ts'
import { OAUTH_PATHS } from '../oauth/endpoints.ts'
import { replaceDurably } from './durable-file.ts'

const schema = z.object({
  base_url: z.url(),
  token_endpoint: z.url(),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
})

/** What a client needs to get a token. */
export type Credentials = z.output<typeof schema>

/**
 * Writes the file, readable by its owner only. What a crash leaves is a whole file or none. A file that is there
 * already is kept beside it under another name: it may hold the only secret of another instance.
 */
export function credentialsFile(path: string, baseUrl: string): CredentialsSink {
  return {
    async write({ clientId, clientSecret }) {
      const credentials: Credentials = {
        base_url: baseUrl,
        token_endpoint: baseUrl + OAUTH_PATHS.token,
        client_id: clientId,
        client_secret: clientSecret,
      }
      try {
        await replace(path, `${JSON.stringify(credentials, null, 2)}\n`)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new Error(
          `cannot write the credentials file ${path}: ${reason}: choose another with --credentials or KEYTURN_CREDENTIALS`,
          { cause: error },
        )
      }
    },
  }
}

/** @throws {Error} that says what to do, if the file is missing or is not a credentials file. */
export async function readCredentials(path: string): Promise<Credentials> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new Error(
      `cannot read the credentials file ${path}: name one with --credentials or KEYTURN_CREDENTIALS; ` +
        '"keyturn serve" writes it when it starts on an empty database',
      { cause: error },
    )
  }
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    throw new Error(
      `${path} is not a credentials file: it must be JSON with base_url, token_endpoint, client_id and client_secret`,
    )
  }
}

async function replace(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await replaceDurably(path, text, () => keepAside(path))
}

async function keepAside(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  if (!found.isFile()) throw new Error('there is something else than a file')
  await rename(path, `${path}.${new Date().toISOString().replaceAll(':', '')}.old`)
}
