/**
 * Generation, hashing and constant-time comparison of client secrets and personal access tokens. The domain decides which of a
 * user's are live.
 */
import { hash as digest, randomBytes, timingSafeEqual } from 'node:crypto'
import { PERSONAL_ACCESS_TOKEN_PREFIX } from '../domain/identities/credential.ts'
import type { ClientSecrets } from '../domain/integrity.ts'
import type { DerivedKeys } from './integrity-key.ts'
import { createTaggedSecrets, newSecret } from './tagged-secret.ts'

/** By which secret scanners and people recognise a leaked secret. */
const SECRET_PREFIX = 'ktn_cs_'
const CLIENT_SECRET = /^ktn_cs_[\w-]{43}$/
const HASH_BYTES = 32
const BLOCK_BYTES = 64

type SecretKeys = Pick<DerivedKeys, 'clientSecrets' | 'personalAccessTokens' | 'personalAccessTokenTags'>

/**
 * Client secrets and personal access tokens with 256 random bits, each stored as the HMAC of its SHA-256, so that write access to
 * the database is not enough to forge one.
 *
 * A personal access token ends in a tag, by which forged ones are known.
 */
export function createClientSecrets(keys: SecretKeys): ClientSecrets {
  const clientSecrets = createComparer(keys.clientSecrets)
  const personalAccessTokens = createComparer(keys.personalAccessTokens)
  const taggedTokens = createTaggedSecrets(PERSONAL_ACCESS_TOKEN_PREFIX, keys.personalAccessTokenTags)
  return {
    generate() {
      const secret = newClientSecret()
      return { secret, hash: clientSecrets.hashOf(secret) }
    },

    hash: clientSecrets.hashOf,

    generatePersonalAccessToken() {
      const token = taggedTokens.generate()
      return { token, hash: personalAccessTokens.hashOf(token) }
    },

    isGenuinePersonalAccessToken: taggedTokens.isGenuine,
    hashPersonalAccessToken: personalAccessTokens.hashOf,
    matches: clientSecrets.matches,
    matchesPersonalAccessToken: personalAccessTokens.matches,
  }
}

export function newClientSecret(): string {
  return newSecret(SECRET_PREFIX)
}

/** Whether a text has the form of a generated client secret. One that a person made up could be guessed from its fast hash. */
export function isClientSecret(text: string): boolean {
  return CLIENT_SECRET.test(text)
}

function createComparer(key: Uint8Array) {
  const mac = createMac(key)
  // A dummy hash that no known secret has, so that an empty list takes as long as a list of one.
  const standIn = randomBytes(HASH_BYTES)
  // One buffer for all comparisons, which are synchronous. A new one each time would cost as much as hashing.
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
        // Constant-time: the comparison stands first, so that a match does not skip the rest.
        found = equal(hash, candidate) || found
      }
      return found && hashes.length > 0
    },
  }
}

/**
 * Writes the HMAC-SHA256 (RFC 2104) of 32 bytes, given as a binary string, which is the fastest way to pass them. Written out as its two
 * hashes, because `createHmac` takes twice as long and this is on the path of every token.
 */
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

// A fast hash is right for a secret with 256 random bits, because it cannot be guessed.
function sha256(secret: string): string {
  return digest('sha256', secret, 'binary')
}

// Lengths are no secret, and `timingSafeEqual` throws on different ones.
function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
