/**
 * A public JSON document, serialized once: the key set of a key ring, discovery, and the description of the API.
 */
import { createHash } from 'node:crypto'

/** A document and its validator. */
export interface PublishedDocument {
  /** The bytes as `latin1` characters: Node sends a string in one write with the headers. */
  readonly body: string
  /** A strong entity tag (RFC 9110 §8.8.3). */
  readonly etag: string
}

/** Serializes a value. */
export function publishDocument(value: unknown): PublishedDocument {
  const bytes = Buffer.from(JSON.stringify(value))
  return { body: bytes.toString('latin1'), etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}

/** Whether the client's copy is current (RFC 9110 §13.1.2). */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  // GET compares weakly: `W/"x"` matches `"x"`.
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
