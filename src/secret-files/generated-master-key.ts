/**
 * The master key of an embedded setup, which Keyturn makes itself and keeps beside the database that it protects: handy
 * for one machine, no protection against who can read both.
 *
 * Whoever calls this holds the lock of the data directory.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { generateMasterKey, type MasterKeys, parseMasterKeys } from '../crypto/master-keys.ts'
import { removeDrafts, replaceDurably } from './durable-file.ts'

/**
 * Sees to it that the file is there.
 *
 * @param mayGenerate Whether a missing key may be generated. A new key opens nothing that another one sealed.
 * @throws {Error} if it is missing and may not be generated.
 */
export async function assureGenerated(path: string, mayGenerate: boolean): Promise<void> {
  if (existsSync(path)) return
  if (!mayGenerate) {
    throw new Error(`the master key ${path} of the embedded database is missing: restore it from a backup`)
  }
  await replaceDurably(path, `${generateMasterKey()}\n`)
}

/**
 * Puts a new master key in the place of the one in the file. Until `reseal` is done the file has both, the new one
 * first; if it fails or the process ends, the next call goes on with the same new key.
 *
 * @throws {Error} what `reseal` throws.
 */
export async function rotateGenerated<T>(path: string, reseal: (masterKeys: MasterKeys) => Promise<T>): Promise<T> {
  await assureGenerated(path, false)
  const text = (await readFile(path, 'utf8')).trim()
  // Before anything is made of it.
  const before = parseMasterKeys(text)
  await removeDrafts(path)
  const both = before.ids.length > 1 ? text : `${generateMasterKey()},${text}`
  if (both !== text) await replaceDurably(path, `${both}\n`)

  const result = await reseal(parseMasterKeys(both))
  const [first = ''] = both.split(',')
  await replaceDurably(path, `${first.trim()}\n`)
  return result
}
