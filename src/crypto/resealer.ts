/**
 * Moves private keys from one master key to another, without a moment in which one is kept in clear.
 */
import type { KeyResealer } from '../domain/ports.ts'
import type { MasterKeys } from './master-keys.ts'
import { createKeySealer, masterKeyOf } from './sealed-key.ts'

/** A resealer that opens with any of these master keys and seals with the first. */
export function createKeyResealer(masterKeys: MasterKeys): KeyResealer {
  const { sealing, ids } = masterKeys
  const sealer = createKeySealer(masterKeys)
  const first = createKeySealer({
    sealing,
    ids: [sealing.id],
    find: (id) => (id === sealing.id ? sealing : undefined),
  })
  return {
    masterKeyIds: [sealing.id, ...ids.filter((id) => id !== sealing.id)],
    masterKeyOf,

    async assertOpens(key) {
      await sealer.open(key.sealedPrivateKey, key)
    },

    async reseal(key) {
      const resealed = await sealer.seal(await sealer.open(key.sealedPrivateKey, key), key)
      // What it was opened from is about to be lost, so that the first master key alone is enough is tried, not assumed.
      await first.open(resealed, key)
      return resealed
    },
  }
}
