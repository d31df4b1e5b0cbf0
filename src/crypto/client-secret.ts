/**
 * Client secrets and personal access tokens: how they are made, kept and compared. Which of a user's are live is decided
 * in the domain.
 */
import { createHmac, hash as digest, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ClientSecrets } from '../domain/integrity.ts'
import type { DerivedKeys } from './integrity-key.ts'

/** Let secret scanners and people recognise a secret that turns up where it should not. */
const SECRET_PREFIX = 'ktn_cs_'
const PERSONAL_ACCESS_TOKEN_PREFIX = 'ktn_pat_'
const SECRET_BYTES = 32
/** 96 bits cannot be guessed, and a guessed tag would gain no more than one query. */
const TAG_BYTES = 12
const HASH_BYTES = 32
const BLOCK_BYTES = 64

/** The length in characters of so many bytes in base64url. */
const lengthOf = (bytes: number) => Math.ceil((bytes * 4) / 3)

const UNTAGGED_LENGTH = PERSONAL_ACCESS_TOKEN_PREFIX.length + lengthOf(SECRET_BYTES)
const TAGGED_LENGTH = UNTAGGED_LENGTH + lengthOf(TAG_BYTES)

/** The keys of what is made and compared here. */
type SecretKeys = Pick<DerivedKeys, 'clientSecrets' | 'personalAccessTokens' | 'personalAccessTokenTags'>

/**
 * Client secrets and personal access tokens with 256 random bits, each kept as the HMAC of its SHA-256: who can write to
 * the database cannot make one that works. The SHA-256 first, because that is what was kept before there were keys.
 *
 * A personal access token ends in a tag, which is the beginning of its HMAC under a key of its own (decision 19). The tag tells
 * invented tokens from those that were made here, and nothing about which of these are still good.
 */
export function createClientSecrets(keys: SecretKeys): ClientSecrets {
  const clientSecrets = createComparison(keys.clientSecrets)
  const personalAccessTokens = createComparison(keys.personalAccessTokens)
  return {
    generate() {
      const secret = newSecret(SECRET_PREFIX)
      return { secret, hash: clientSecrets.hashOf(secret) }
    },

    generatePersonalAccessToken() {
      const untagged = newSecret(PERSONAL_ACCESS_TOKEN_PREFIX)
      const token = untagged + tagOf(untagged, keys.personalAccessTokenTags)
      return { token, hash: personalAccessTokens.hashOf(token) }
    },

    originOfPersonalAccessToken(token) {
      if (token.length === UNTAGGED_LENGTH) return 'older'
      if (token.length !== TAGGED_LENGTH) return 'invented'
      const tag = Buffer.from(token.slice(UNTAGGED_LENGTH))
      const expected = Buffer.from(tagOf(token.slice(0, UNTAGGED_LENGTH), keys.personalAccessTokenTags))
      return equal(tag, expected) ? 'genuine' : 'invented'
    },

    hashPersonalAccessToken: personalAccessTokens.hashOf,
    matches: clientSecrets.matches,
    matchesPersonalAccessToken: personalAccessTokens.matches,
  }
}

/**
 * What a secret is kept as, from its SHA-256: HMAC-SHA256 (RFC 2104).
 *
 * Written out as its two hashes: `createHmac` takes twice as long as all of it, on the way to every token.
 */
export function createSecretHash(key: Uint8Array): (sha256: Uint8Array) => Uint8Array {
  const mac = createMac(key)
  return (sha256) => {
    const result = Buffer.alloc(HASH_BYTES)
    mac(Buffer.from(sha256).toString('binary'), result)
    return result
  }
}

function createComparison(key: Uint8Array) {
  const mac = createMac(key)
  // No secret has this hash, because none is known that does.
  const standIn = randomBytes(HASH_BYTES)
  // Hashes are compared where they come from here, one after the other. A buffer for each would cost as much as hashing.
  const hash = Buffer.alloc(HASH_BYTES)
  return {
    hashOf(secret: string): Uint8Array {
      const result = Buffer.alloc(HASH_BYTES)
      mac(sha256(secret), result)
      return result
    },

    matches(secret: string, hashes: readonly Uint8Array[]): boolean {
      mac(sha256(secret), hash)
      let found = false
      for (const candidate of hashes.length === 0 ? [standIn] : hashes) {
        // The comparison stands first: none may be left out because an earlier one succeeded.
        found = equal(hash, candidate) || found
      }
      return found && hashes.length > 0
    },
  }
}

/** Writes the HMAC-SHA256 of 32 bytes, given as one character each, which is the quickest way to hand them around. */
function createMac(key: Uint8Array): (message: string, result: Buffer) => void {
  const inner = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x36)
  const outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x5c)
  for (const pad of [inner, outer]) for (const [i, byte] of key.entries()) pad[i] = (pad[i] ?? 0) ^ byte
  return (message, result) => {
    inner.write(message, BLOCK_BYTES, 'binary')
    outer.write(digest('sha256', inner, 'binary'), BLOCK_BYTES, 'binary')
    result.write(digest('sha256', outer, 'binary'), 'binary')
  }
}

function newSecret(prefix: string): string {
  return prefix + randomBytes(SECRET_BYTES).toString('base64url')
}

function tagOf(untagged: string, key: Uint8Array): string {
  const mac = createHmac('sha256', key).update(untagged).digest()
  return mac.subarray(0, TAG_BYTES).toString('base64url')
}

// A fast hash is right for a secret with 256 random bits: there is nothing to guess, so nothing to slow down.
function sha256(secret: string): string {
  return digest('sha256', secret, 'binary')
}

// Lengths are no secret, and `timingSafeEqual` throws on different ones.
function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
