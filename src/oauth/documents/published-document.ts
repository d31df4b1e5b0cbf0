/**
 * A public JSON document that is the same for every reader: the key set, until the key ring changes, and discovery. Its
 * bytes and its entity tag are made once.
 */
import { createHash } from 'node:crypto'

/** The document with its validator. */
export interface PublishedDocument {
  /** The bytes as characters (`latin1`): a text goes out in one piece with the headers. */
  readonly body: string
  /** A strong entity tag (RFC 9110 §8.8.3): another body has another one. */
  readonly etag: string
}

/** Fixes a value as the bytes to send. */
export function publishDocument(value: unknown): PublishedDocument {
  const bytes = Buffer.from(JSON.stringify(value))
  return { body: bytes.toString('latin1'), etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}

/** Whether the reader's copy is still good (RFC 9110 §13.1.2). */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  // GET compares weakly: `W/"x"` matches `"x"`.
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
