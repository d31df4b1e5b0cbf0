/**
 * Reseals keys with another master key. The plaintext is never stored.
 */
import type { KeyResealer, SealedKey } from '../domain/keys/sealed-keys.ts'
import { resealIntegrityKey, withIntegrityKey } from './integrity-key.ts'
import type { MasterKeys } from './master-keys.ts'
import { masterKeyOf } from './sealed-jwe.ts'
import { createKeySealer } from './sealed-key.ts'
import { resealWebhookSecret, withWebhookSecret } from './webhook-signer.ts'

/** A resealer that opens with any of these master keys and seals with the first. */
export function createKeyResealer(masterKeys: MasterKeys): KeyResealer {
  const { sealing, ids } = masterKeys
  const first = { sealing, ids: [sealing.id], find: (id: string) => (id === sealing.id ? sealing : undefined) }
  return {
    masterKeyIds: [sealing.id, ...ids.filter((id) => id !== sealing.id)],
    masterKeyOf,
    assertOpens: (key) => assertOpensWith(masterKeys, key),

    async reseal(key) {
      const sealed = await resealWith(masterKeys, key)
      // The old sealed text is about to be replaced, so the new one must open with the first master key alone.
      await assertOpensWith(first, { ...key, sealed })
      return sealed
    },
  }
}

/** Opens the whole of a key, and wipes it. */
async function assertOpensWith(masterKeys: MasterKeys, key: SealedKey): Promise<void> {
  if (key.kind === 'integrity_key') await withIntegrityKey(key.sealed, masterKeys, () => {})
  else if (key.kind === 'webhook_secret')
    await withWebhookSecret(key.sealed, key.webhookId, { masterKeys, use: () => {} })
  else await createKeySealer(masterKeys).withPrivateKey(key.sealed, key, () => {})
}

function resealWith(masterKeys: MasterKeys, key: SealedKey): Promise<string> {
  if (key.kind === 'integrity_key') return resealIntegrityKey(key.sealed, masterKeys)
  if (key.kind === 'webhook_secret') return resealWebhookSecret(key.sealed, key.webhookId, masterKeys)
  const sealer = createKeySealer(masterKeys)
  return sealer.withPrivateKey(key.sealed, key, (pkcs8) => sealer.seal(pkcs8, key))
}
