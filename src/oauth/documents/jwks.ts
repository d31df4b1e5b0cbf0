/** Public JSON documents, serialized once, and the first of them: the keys of all states, public members only (Spec §4.2). */
import { createHash } from 'node:crypto'
import type { PublicJwk } from '../../domain/keys/key-algorithm.ts'
import type { KeyRing } from '../../domain/keys/key-ring.ts'
import type { WebKey } from '../../domain/keys/web-key.ts'

export interface KeySet {
  readonly keys: readonly (PublicJwk & { readonly use: 'sig'; readonly kid: string; readonly alg: string })[]
}

/** The key set of a ring, the active key first. */
export function keySetOf(ring: KeyRing): KeySet {
  return {
    keys: inKeySetOrder(ring).map(({ publicJwk, keyId, algorithm }) => ({
      ...publicJwk,
      use: 'sig',
      kid: keyId,
      alg: algorithm,
    })),
  }
}

/**
 * The keys in the order of the key set: the active one first, because some verifiers look at no other. The others follow by
 * creation date, newest first, because the newest is the next to sign.
 */
export function inKeySetOrder(ring: KeyRing): readonly WebKey[] {
  const isActive = ({ state }: WebKey) => state === 'active'
  return [...ring.filter(isActive), ...ring.filter((key) => !isActive(key)).reverse()]
}

/**
 * A longer body is shared by all responses. Each response with a string holds a copy until its client has read it, so that clients which
 * read slowly would hold much memory. In bytes.
 */
const MAX_COPIED_BYTES = 65_536

export interface PublishedDocument {
  /** The bytes, as `latin1` characters if they are few: Node sends a string in one write with the headers. */
  readonly body: string | Buffer
  /** A strong entity tag (RFC 9110 §8.8.3). */
  readonly etag: string
}

export function publishDocument(value: unknown): PublishedDocument {
  const bytes = Buffer.from(JSON.stringify(value))
  const body = bytes.length > MAX_COPIED_BYTES ? bytes : bytes.toString('latin1')
  return { body, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}
