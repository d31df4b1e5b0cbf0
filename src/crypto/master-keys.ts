/**
 * The master keys, which seal private keys at rest: their text form, and which of them seals and opens.
 *
 * Sealing is in `sealed-key.ts`. The configuration says where the text comes from.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

/** A 256-bit key with a name. The key is a `KeyObject`, which neither logs nor JSON show. */
export interface MasterKey {
  readonly id: string
  readonly key: KeyObject
}

/** All configured master keys: the first seals, each opens what it has sealed. */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]]

const KEY_BYTES = 32
const ID = /^[A-Za-z0-9._-]{1,64}$/
const FORM = 'id:key, the id 1 to 64 of A-Z a-z 0-9 . _ -, the key 32 bytes as base64url (43 characters)'

/**
 * Reads master keys as `KEYTURN_MASTER_KEYS` has them: comma-separated `id:base64url(32 bytes)`. Blanks around an entry
 * are ignored.
 *
 * @throws {Error} if an entry is malformed or an id is there twice. The message says which and what to do, and holds
 * nothing of a key.
 */
export function parseMasterKeys(text: string): MasterKeys {
  const masterKeys = text.trim() === '' ? [] : text.split(',').map((entry, i) => parseMasterKey(entry.trim(), i + 1))
  const [first, ...others] = masterKeys
  if (first === undefined) throw new Error('there is no master key: make one with "keyturn master-key generate"')
  const twice = masterKeys.find(({ id }, i) => masterKeys.findIndex((other) => other.id === id) < i)
  if (twice !== undefined)
    throw new Error(`two master keys have the id "${twice.id}": remove one or give it another id`)
  return [first, ...others]
}

/** A new master key with a random id, in the form that `parseMasterKeys` reads. */
export function generateMasterKey(): string {
  return `mk-${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64url')}`
}

function parseMasterKey(entry: string, position: number): MasterKey {
  const colon = entry.indexOf(':')
  const id = entry.slice(0, Math.max(colon, 0))
  const encoded = entry.slice(colon + 1)
  const bytes = Buffer.from(encoded, 'base64url')
  // Decoding skips what is not base64url; only a text that encodes back to itself was written as it should be.
  const wellFormed = bytes.length === KEY_BYTES && bytes.toString('base64url') === encoded
  // The id is not repeated here: with the two halves swapped or the id forgotten, it would be the key.
  if (!ID.test(id) || !wellFormed) throw new Error(`master key ${position} is malformed: write it as ${FORM}`)
  return { id, key: createSecretKey(bytes) }
}
