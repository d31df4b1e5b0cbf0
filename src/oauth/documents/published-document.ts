/**
 * A public JSON document, serialized once: the key set of a key ring, discovery, and the description of the API.
 */
import { createHash } from 'node:crypto'

/**
 * A longer body is shared by all responses. Each response with a string holds a copy until its client has read it, so that clients which
 * read slowly would hold much memory. In bytes.
 */
const MAX_COPIED_BYTES = 65_536

/** A document and its validator. */
export interface PublishedDocument {
  /** The bytes, as `latin1` characters if they are few: Node sends a string in one write with the headers. */
  readonly body: string | Buffer
  /** A strong entity tag (RFC 9110 §8.8.3). */
  readonly etag: string
}

/** Serializes a value. */
export function publishDocument(value: unknown): PublishedDocument {
  const bytes = Buffer.from(JSON.stringify(value))
  const body = bytes.length > MAX_COPIED_BYTES ? bytes : bytes.toString('latin1')
  return { body, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}
