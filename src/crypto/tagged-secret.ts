/**
 * Secrets with 256 random bits behind a prefix, and the tag in which some of them end: the beginning of an HMAC of what stands before it.
 *
 * The tag separates forged secrets from those that this instance made (decision 19). It does not say which of these are live.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const SECRET_BYTES = 32
/** 96 bits cannot be guessed, and a guessed tag would gain one query only. */
const TAG_BYTES = 12

/** The length of what stands between the prefix and the tag, in characters. */
const RANDOM_LENGTH = lengthOf(SECRET_BYTES)
const TAG_LENGTH = lengthOf(TAG_BYTES)

/** Makes secrets with a tag, and recognises them. */
export interface TaggedSecrets {
  generate(): string
  /** Whether this instance has made the secret, in constant time. */
  isGenuine(secret: string): boolean
}

/** A new secret without a tag. */
export function newSecret(prefix: string): string {
  return prefix + randomBytes(SECRET_BYTES).toString('base64url')
}

/** @param key Of the tags. They cover the prefix, so that secrets with different prefixes may have the same key. */
export function createTaggedSecrets(prefix: string, key: Uint8Array): TaggedSecrets {
  const form = new RegExp(`^${prefix}[\\w-]{${RANDOM_LENGTH + TAG_LENGTH}}$`)
  const tagOf = (untagged: string) =>
    createHmac('sha256', key).update(untagged).digest().subarray(0, TAG_BYTES).toString('base64url')
  return {
    generate() {
      const untagged = newSecret(prefix)
      return untagged + tagOf(untagged)
    },

    isGenuine(secret) {
      if (!form.test(secret)) return false
      const tag = Buffer.from(secret.slice(-TAG_LENGTH))
      return timingSafeEqual(tag, Buffer.from(tagOf(secret.slice(0, -TAG_LENGTH))))
    },
  }
}

/** The length in characters of so many bytes in base64url. */
function lengthOf(bytes: number): number {
  return Math.ceil((bytes * 4) / 3)
}
