/**
 * Rotates master keys, and reports their use, directly in the database. Servers may go on, except with an embedded database,
 * whose data directory they have locked.
 */

import { join } from 'node:path'
import {
  assertAllOpen,
  lookAtMasterKeys,
  type MasterKeyStatus,
  type Resealed,
  resealAll,
} from '../../app/keys/reseal.ts'
import { type Config, MASTER_KEY_FILE } from '../../config/config.ts'
import type { MasterKeys } from '../../crypto/master-keys.ts'
import { createKeyResealer } from '../../crypto/sealed-key.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { masterKeySource, rotateGenerated } from '../../secret-files/master-key-source.ts'
import { createSealedKeyStore } from '../../storage/keys/sealed-key-store.ts'
import { assertMigrated } from '../../storage/migrations/migrate.ts'
import { assertSetUp, withExisting, withInstance } from '../database.ts'

export interface RotatedMasterKeys extends Resealed {
  /** The file with the master key, if Keyturn generated it. */
  readonly generatedIn: string | null
}

/**
 * Seals every private key, and the integrity key, under the first master key. A generated master key is replaced first.
 * @param signal Ends the command for the master keys.
 * @throws {Error} that says what to do, if the instance has not been set up, its embedded database is in use, or the
 * master keys do not open all of them. What has been sealed anew stays so, and another call does the rest.
 */
export async function rotateMasterKeys(config: Config, log: Log, signal: AbortSignal): Promise<RotatedMasterKeys> {
  return await withInstance(config, log, async (database) => {
    const store = createSealedKeyStore(database)
    const masterKeys = await masterKeySource(config, log).load({ mayGenerate: false, signal })
    const options = (keys: MasterKeys) => ({ store, resealer: createKeyResealer(keys) })
    if (config.masterKeys.kind !== 'generated') return { ...(await resealAll(options(masterKeys))), generatedIn: null }

    // Checked before a new one is generated.
    await assertAllOpen(options(masterKeys))
    const file = join(config.dataDir, MASTER_KEY_FILE)
    const resealed = await rotateGenerated(file, (both) => resealAll(options(both)))
    return { ...resealed, generatedIn: file }
  })
}

/**
 * How many keys each master key seals, and the keys that none opens. Nothing is changed, the schema included.
 * @param signal Ends the command for the master keys.
 * @throws {Error} like `rotateMasterKeys`, and if the schema is not the one of this version.
 */
export async function masterKeyStatus(config: Config, log: Log, signal: AbortSignal): Promise<MasterKeyStatus> {
  return await withExisting(config, log, async (database) => {
    await assertMigrated(database)
    await assertSetUp(database)
    const masterKeys = await masterKeySource(config, log).load({ mayGenerate: false, signal })
    return await lookAtMasterKeys({
      store: createSealedKeyStore(database),
      resealer: createKeyResealer(masterKeys),
    })
  })
}
