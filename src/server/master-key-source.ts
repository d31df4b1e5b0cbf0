/**
 * Where the master keys come from: the configuration, a file, or a key that is generated in the data directory.
 */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { generateMasterKey, type MasterKeys, parseMasterKeys } from '../crypto/master-keys.ts'

/** @throws {Error} that names the file and holds nothing of a key. */
export async function loadMasterKeys(config: Config): Promise<MasterKeys> {
  const { masterKeys, dataDir, database } = config
  switch (masterKeys.kind) {
    case 'text':
      return parseMasterKeys(masterKeys.text)
    case 'file':
      return parseFile(masterKeys.path)
    case 'generated':
      if (database.kind === 'memory') return parseMasterKeys(generateMasterKey())
      return generatedIn(join(dataDir, 'master.key'))
  }
}

async function parseFile(path: string): Promise<MasterKeys> {
  try {
    return parseMasterKeys((await readFile(path, 'utf8')).trim())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`cannot read master keys from ${path}: ${reason}`, { cause: error })
  }
}

/** Keeps the key beside the database that it protects: handy for one machine, no protection against who can read both. */
async function generatedIn(path: string): Promise<MasterKeys> {
  try {
    await writeFile(path, `${generateMasterKey()}\n`, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    await chmod(path, 0o600)
  }
  return parseFile(path)
}
