/**
 * Reseals every sealed key of the instance, the private keys, the secrets of webhooks and the integrity key, with the first master key, while servers
 * serve. Reports which master key seals what.
 *
 * Each key is a change of its own, so an interrupted run needs no recovery: the next one reseals the rest.
 */

import { INTEGRITY_KEY, webhookResource, webKeyResource } from '../../domain/audit-resources.ts'
import { messageOf } from '../../domain/errors.ts'
import { SYSTEM } from '../../domain/identities/authority.ts'
import type { KeyResealer, SealedKey, SealedKeyStore } from '../../domain/keys/sealed-keys.ts'

/** How often the store is searched for new keys that another master key has sealed. */
const MAX_LOOKS = 10

export interface ResealOptions {
  readonly store: SealedKeyStore
  readonly resealer: KeyResealer
}

export interface Resealed {
  readonly masterKeyId: string
  readonly total: number
  /** How many of them were sealed by another master key before. */
  readonly resealed: number
  readonly unused: readonly string[]
  /** Master keys that servers sealed new keys with in the meantime. */
  readonly stillInUse: readonly string[]
}

/**
 * Seals everything anew that is not sealed by the first master key.
 * @throws {Error} if some key cannot be opened; nothing has been changed then, unless that key is new. If servers
 * go on sealing with another master key for too long. {DomainError} `storage_unavailable`.
 */
export async function resealAll({ store, resealer }: ResealOptions): Promise<Resealed> {
  const [masterKeyId, ...others] = resealer.masterKeyIds
  const isOutdated = (key: SealedKey) => resealer.masterKeyOf(key.sealed) !== masterKeyId
  let keys = await assertAllOpen({ store, resealer })
  const known = new Set(keys.map(identityOf))
  const stillInUse = new Set<string>()
  let resealed = 0
  for (let look = 1; look <= MAX_LOOKS; look += 1) {
    const outdated = keys.filter(isOutdated)
    if (outdated.length === 0) {
      return { masterKeyId, total: keys.length, resealed, unused: others, stillInUse: [...stillInUse] }
    }
    for (const key of outdated) {
      if (!known.has(identityOf(key))) stillInUse.add(String(resealer.masterKeyOf(key.sealed)))
      const entry = { ...SYSTEM, action: 'master_key/reseal', resource: nameOf(key) }
      if (await store.replace(key, await resealer.reseal(key), entry)) resealed += 1
    }
    keys = await store.list()
  }
  throw new Error(
    `servers go on sealing new keys with ${[...stillInUse].join(', ')}: restart them with ${masterKeyId} as the first ` +
      'master key, then run this again',
  )
}

/**
 * Opens every sealed key, also those of the first master key: under its id there could be another key than before.
 * @returns All of them. @throws {Error} about the first one that cannot be opened.
 */
export async function assertAllOpen({ store, resealer }: ResealOptions): Promise<readonly SealedKey[]> {
  const keys = await store.list()
  for (const key of keys) await resealer.assertOpens(key)
  return keys
}

export interface MasterKeyUse {
  /** Null: the sealed text does not say it. */
  readonly masterKeyId: string | null
  /** The first one seals, all that are configured open. */
  readonly configured: 'first' | 'yes' | 'no'
  readonly sealedKeys: number
}

export interface MasterKeyStatus {
  /** The configured ones in their order, then the others that seal something. */
  readonly uses: readonly MasterKeyUse[]
  /** What cannot be opened, and why. */
  readonly lost: readonly { readonly key: SealedKey; readonly reason: string }[]
}

/** Reports which master key seals how much, and what cannot be opened. Changes nothing. */
export async function lookAtMasterKeys({ store, resealer }: ResealOptions): Promise<MasterKeyStatus> {
  const keys = await store.list()
  const lost: { key: SealedKey; reason: string }[] = []
  for (const key of keys) {
    await resealer.assertOpens(key).catch((error: unknown) => {
      lost.push({ key, reason: messageOf(error) })
    })
  }
  const configured = (id: string | null) => {
    const position = id === null ? -1 : resealer.masterKeyIds.indexOf(id)
    return position === 0 ? 'first' : position > 0 ? 'yes' : 'no'
  }
  const uses = [...countByMasterKey(keys, resealer)].map(([id, count]): MasterKeyUse => {
    return { masterKeyId: id, configured: configured(id), sealedKeys: count }
  })
  return { uses, lost }
}

/** How many keys each master key seals: the configured ones in their order, then the others. Null: the sealed text does not say it. */
export function countByMasterKey(
  keys: readonly SealedKey[],
  { masterKeyIds, masterKeyOf }: Pick<KeyResealer, 'masterKeyIds' | 'masterKeyOf'>,
): ReadonlyMap<string | null, number> {
  const counts = new Map<string | null, number>(masterKeyIds.map((id) => [id, 0]))
  for (const { sealed } of keys) counts.set(masterKeyOf(sealed), (counts.get(masterKeyOf(sealed)) ?? 0) + 1)
  return counts
}

/** With the sealed text, because a webhook has two secrets under one name. */
function identityOf(key: SealedKey): string {
  return `${nameOf(key)} ${key.sealed}`
}

function nameOf(key: SealedKey): string {
  switch (key.kind) {
    case 'integrity_key':
      return INTEGRITY_KEY
    case 'web_key':
      return webKeyResource(key.keyId)
    case 'webhook_secret':
      return webhookResource(key.webhookId)
  }
}
