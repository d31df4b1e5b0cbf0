/**
 * Client secrets and personal access tokens: how they are made, kept and compared. Which of a user's are live is decided
 * in the domain.
 */
import { hash as digest, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ClientSecrets } from '../domain/ports.ts'

/** Let secret scanners and people recognise a secret that turns up where it should not. */
const SECRET_PREFIX = 'ktn_cs_'
const PERSONAL_ACCESS_TOKEN_PREFIX = 'ktn_pat_'
const SECRET_BYTES = 32
const HASH_BYTES = 32

/** Client secrets and personal access tokens with 256 random bits, kept as their SHA-256. */
export function createClientSecrets(): ClientSecrets {
  // No secret has this hash, because nobody knows one that does.
  const standIn = randomBytes(HASH_BYTES)
  // Hashes are compared where they come from here, one after the other. A buffer for each would cost as much as hashing.
  const hash = Buffer.alloc(HASH_BYTES)

  return {
    generate() {
      const secret = newSecret(SECRET_PREFIX)
      return { secret, hash: hashOf(secret) }
    },

    generatePersonalAccessToken() {
      const token = newSecret(PERSONAL_ACCESS_TOKEN_PREFIX)
      return { token, hash: hashOf(token) }
    },

    hash: hashOf,

    matches(secret, hashes) {
      hash.write(digest('sha256', secret, 'binary'), 'binary')
      let found = false
      for (const candidate of hashes.length === 0 ? [standIn] : hashes) {
        // The comparison stands first: none may be left out because an earlier one succeeded.
        found = equal(hash, candidate) || found
      }
      return found && hashes.length > 0
    },
  }
}

function newSecret(prefix: string): string {
  return prefix + randomBytes(SECRET_BYTES).toString('base64url')
}

// A fast hash is right for a secret with 256 random bits: there is nothing to guess, so nothing to slow down.
function hashOf(secret: string): Uint8Array {
  return digest('sha256', secret, 'buffer')
}

// Lengths are no secret, and `timingSafeEqual` throws on different ones.
function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
