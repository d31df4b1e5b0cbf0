/**
 * Where the master keys come from: the configuration, a file, a command, or a key that is generated in the data directory.
 *
 * A generated key is beside the database: handy for one machine, no protection against a reader of both.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, MASTER_KEY_FILE } from '../config/config.ts'
import { generateMasterKey, type MasterKeys, parseMasterKeys } from '../crypto/master-keys.ts'
import { messageOf } from '../domain/errors.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { replaceDurably } from './durable-file.ts'
import { KEPT_CHARACTERS, runProgram } from './run-program.ts'

/** When a command is killed, in milliseconds. */
const TIMEOUT = 30_000
const MAX_LOGGED_CHARACTERS = 4096

/** Anything like a key in standard error, such as the trace of a shell: base64 or base64url. */
const LIKE_A_KEY = /[\w+/-]{43,}={0,2}/g

interface LoadOptions {
  /** Whether a missing key may be generated. A new key opens nothing that another one sealed. */
  readonly mayGenerate: boolean
  /** Kills the command. */
  readonly signal?: AbortSignal
}

export interface MasterKeySource {
  /** @throws {Error} that names the place and contains no part of a key. */
  load(options: LoadOptions): Promise<MasterKeys>
}

export function masterKeySource({ masterKeys, dataDir }: Config, log: Log): MasterKeySource {
  switch (masterKeys.kind) {
    case 'given':
      return { load: async () => masterKeys.keys }
    case 'file':
      return masterKeyFile(masterKeys.path)
    case 'command':
      return from(`the command ${masterKeys.argv[0]}`, ({ signal }) => outputOf(masterKeys.argv, log, signal))
    case 'generated': {
      const path = join(dataDir, MASTER_KEY_FILE)
      return {
        async load(options) {
          await ensureGenerated(path, options.mayGenerate)
          return await masterKeyFile(path).load(options)
        },
      }
    }
  }
}

export function masterKeyFile(path: string): MasterKeySource {
  return from(path, () => readFile(path, 'utf8'))
}

/**
 * Replaces a generated master key in its file. Until `reseal` is done the file has both, the new one first; if `reseal` fails or the process ends,
 * the next call continues with the same new key. The caller holds the lock of the data directory.
 *
 * @throws {Error} what `reseal` throws.
 */
export async function rotateGenerated<T>(path: string, reseal: (masterKeys: MasterKeys) => Promise<T>): Promise<T> {
  await ensureGenerated(path, false)
  const text = (await readFile(path, 'utf8')).trim()
  // Checked before a new key is added to it.
  const before = parseMasterKeys(text)
  const both = before.length > 1 ? text : `${generateMasterKey()},${text}`
  if (both !== text) await replaceDurably(path, `${both}\n`)

  const result = await reseal(parseMasterKeys(both))
  const [first = ''] = both.split(',')
  await replaceDurably(path, `${first.trim()}\n`)
  return result
}

async function ensureGenerated(path: string, mayGenerate: boolean): Promise<void> {
  if (existsSync(path)) return
  if (!mayGenerate) {
    throw new Error(`the master key ${path} of the embedded database is missing: restore it from a backup`)
  }
  await replaceDurably(path, `${generateMasterKey()}\n`)
}

function from(place: string, read: (options: LoadOptions) => Promise<string>): MasterKeySource {
  return {
    async load(options) {
      try {
        return parseMasterKeys((await read(options)).trim())
      } catch (error) {
        throw new Error(`cannot read master keys from ${place}: ${messageOf(error)}`, { cause: error })
      }
    },
  }
}

/** The standard error of the command goes to the log; its standard output reaches neither an error nor the log. */
async function outputOf(argv: readonly string[], log: Log, signal?: AbortSignal): Promise<string> {
  const { stdout, stderr, problem } = await runProgram(argv, { timeout: TIMEOUT, signal })
  const said = stderr.trim().replaceAll(LIKE_A_KEY, '***').slice(0, MAX_LOGGED_CHARACTERS)
  if (said !== '') log.warn({ stderr: said }, 'the command for the master keys wrote to its standard error')
  signal?.throwIfAborted()
  if (problem !== undefined) throw new Error(`it ${problem}`)
  if (stdout.length > KEPT_CHARACTERS) throw new Error(`it printed more than ${KEPT_CHARACTERS} characters`)
  return stdout
}
