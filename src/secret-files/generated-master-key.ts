/**
 * The master key of an embedded setup. Keyturn generates it and keeps it beside the database: handy for one machine, no
 * protection against a reader of both.
 *
 * Callers hold the lock of the data directory.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { generateMasterKey, type MasterKeys, parseMasterKeys } from '../crypto/master-keys.ts'
import { removeDrafts, replaceDurably } from './durable-file.ts'

/**
 * Generates the file if it is missing.
 *
 * @param mayGenerate Whether a missing key may be generated. A new key opens nothing that another one sealed.
 * @throws {Error} if it is missing and may not be generated.
 */
export async function ensureGenerated(path: string, mayGenerate: boolean): Promise<void> {
  if (existsSync(path)) return
  if (!mayGenerate) {
    throw new Error(`the master key ${path} of the embedded database is missing: restore it from a backup`)
  }
  await replaceDurably(path, `${generateMasterKey()}\n`)
}

/**
 * Replaces the master key in the file. Until `reseal` is done the file has both, the new one first; if `reseal` fails
 * or the process ends, the next call continues with the same new key.
 *
 * @throws {Error} what `reseal` throws.
 */
export async function rotateGenerated<T>(path: string, reseal: (masterKeys: MasterKeys) => Promise<T>): Promise<T> {
  await ensureGenerated(path, false)
  const text = (await readFile(path, 'utf8')).trim()
  // Checked before a new key is added to it.
  const before = parseMasterKeys(text)
  await removeDrafts(path)
  const both = before.length > 1 ? text : `${generateMasterKey()},${text}`
  if (both !== text) await replaceDurably(path, `${both}\n`)

  const result = await reseal(parseMasterKeys(both))
  const [first = ''] = both.split(',')
  await replaceDurably(path, `${first.trim()}\n`)
  return result
}
