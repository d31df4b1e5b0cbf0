/**
 * Where the master keys come from: the configuration, a file, or a key that is generated in the data directory.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, MASTER_KEY_FILE } from '../config/config.ts'
import { generateMasterKey, type MasterKeys, parseMasterKeys } from '../crypto/master-keys.ts'

/**
 * @param mayGenerate Whether a missing key may be generated. A new key opens nothing that another one sealed.
 * @throws {Error} that names the file and holds nothing of a key.
 */
export async function loadMasterKeys(config: Config, mayGenerate: boolean): Promise<MasterKeys> {
  const { masterKeys, dataDir, database } = config
  switch (masterKeys.kind) {
    case 'text':
      return parseMasterKeys(masterKeys.text)
    case 'file':
      return parseFile(masterKeys.path)
    case 'generated':
      if (database.kind === 'memory') return parseMasterKeys(generateMasterKey())
      return generatedIn(join(dataDir, MASTER_KEY_FILE), mayGenerate)
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
async function generatedIn(path: string, mayGenerate: boolean): Promise<MasterKeys> {
  if (!existsSync(path)) {
    if (!mayGenerate) {
      throw new Error(`the master key ${path} of the embedded database is missing: restore it from a backup`)
    }
    // Under its name there is a whole key or none, whenever the process ends.
    const draft = `${path}.${randomUUID()}.new`
    await writeFile(draft, `${generateMasterKey()}\n`, { flag: 'wx', mode: 0o600, flush: true })
    await rename(draft, path)
  }
  return parseFile(path)
}
