/**
 * The sealed keys in a database: the private keys of the web keys, and the integrity key.
 */
import { parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { createKeyResealer } from '../../src/crypto/sealed-key.ts'
import { createSealedKeyStore } from '../../src/storage/keys/sealed-key-store.ts'
import { openDatabase } from '../../src/storage/postgres/database.ts'
import { createRecordingLog } from './log.ts'

/** Opens every one with these master keys, and returns how many there are. @throws {Error} if one cannot be opened. */
export async function openAllSealed(url: string, masterKeys: string): Promise<number> {
  const database = openDatabase({ url, log: createRecordingLog() })
  try {
    const resealer = createKeyResealer(parseMasterKeys(masterKeys))
    const sealed = await createSealedKeyStore(database).list()
    for (const key of sealed) await resealer.assertOpens(key)
    return sealed.length
  } finally {
    await database.close()
  }
}
