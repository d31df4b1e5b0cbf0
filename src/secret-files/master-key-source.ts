/**
 * Where the master keys come from: the configuration, a file, a command, or a key that is generated in the data directory.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, MASTER_KEY_FILE } from '../config/config.ts'
import { type MasterKeys, parseMasterKeys } from '../crypto/master-keys.ts'
import type { Log } from '../domain/ports/runtime.ts'
import { ensureGenerated } from './generated-master-key.ts'
import { outputOfMasterKeyCommand } from './master-key-process.ts'

interface LoadOptions {
  /** Whether a missing key may be generated. A new key opens nothing that another one sealed. */
  readonly mayGenerate: boolean
  readonly signal?: AbortSignal
}

export interface MasterKeySource {
  /** @throws {Error} that names the place and contains no part of a key. */
  load(options: LoadOptions): Promise<MasterKeys>
}

/** The configured place. */
export function masterKeySource({ masterKeys, dataDir }: Config, log: Log): MasterKeySource {
  switch (masterKeys.kind) {
    case 'text':
      return { load: async () => parseMasterKeys(masterKeys.text) }
    case 'file':
      return masterKeyFile(masterKeys.path)
    case 'command':
      return from(`the command ${masterKeys.argv[0]}`, ({ signal }) =>
        outputOfMasterKeyCommand(masterKeys.argv, { log, signal }),
      )
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

function from(place: string, read: (options: LoadOptions) => Promise<string>): MasterKeySource {
  return {
    async load(options) {
      try {
        return parseMasterKeys((await read(options)).trim())
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new Error(`cannot read master keys from ${place}: ${reason}`, { cause: error })
      }
    },
  }
}
