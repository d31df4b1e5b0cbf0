/**
 * Client secrets, personal access tokens, the codes of sign-in links and the cookies of sessions: 256 random bits behind a prefix, kept as the HMAC
 * of their SHA-256, so that write access to the database is not enough to forge one.
 *
 * All but client secrets end in a tag: the beginning of an HMAC of what stands before it. It separates forged secrets from those that this instance
 * made (decision 19), and does not say which of these are live.
 */
import { createHmac, createSecretKey, hash as digest, randomBytes, timingSafeEqual } from 'node:crypto'
import { PERSONAL_ACCESS_TOKEN_PREFIX } from '../domain/identities/credential.ts'
import type { InstanceSecrets, Secrets } from '../domain/integrity.ts'

/** By which secret scanners and people recognise a leaked secret. */
const PREFIXES: Readonly<Record<keyof InstanceSecrets, string>> = {
  clientSecrets: 'ktn_cs_',
  personalAccessTokens: PERSONAL_ACCESS_TOKEN_PREFIX,
  signInCodes: 'ktn_link_',
  sessionCookies: 'ktn_session_',
}

const CLIENT_SECRET = new RegExp(`^${PREFIXES.clientSecrets}[\\w-]{43}$`)
const SECRET_BYTES = 32
/** 96 bits cannot be guessed, and a guessed tag would gain one query only. */
const TAG_BYTES = 12
/** In base64url. */
const TAG_LENGTH = 16

/** @param keys A key for each kind, of its hashes and tags: a hash is the HMAC of 32 bytes, and a tag that of a longer text. */
export function createInstanceSecrets(keys: Readonly<Record<keyof InstanceSecrets, Uint8Array>>): InstanceSecrets {
  return {
    clientSecrets: createSecrets(PREFIXES.clientSecrets, keys.clientSecrets, { hasTag: false }),
    personalAccessTokens: createSecrets(PREFIXES.personalAccessTokens, keys.personalAccessTokens),
    signInCodes: createSecrets(PREFIXES.signInCodes, keys.signInCodes),
    sessionCookies: createSecrets(PREFIXES.sessionCookies, keys.sessionCookies),
  }
}

export function newClientSecret(): string {
  return newSecret(PREFIXES.clientSecrets)
}

/** Whether a text has the form of a generated client secret. One that a person made up could be guessed from its fast hash. */
export function isClientSecret(text: string): boolean {
  return CLIENT_SECRET.test(text)
}

/** Whether two codes are the same, in constant time. Lengths are no secret. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

function createSecrets(prefix: string, key: Uint8Array, { hasTag = true } = {}): Secrets {
  const secretKey = createSecretKey(key)
  const hmac = (data: string | Uint8Array) => createHmac('sha256', secretKey).update(data).digest()
  // A fast hash is right for a secret with 256 random bits, because it cannot be guessed.
  const hash = (secret: string) => hmac(digest('sha256', secret, 'buffer'))
  const tagOf = (untagged: string) => (hasTag ? hmac(untagged).subarray(0, TAG_BYTES).toString('base64url') : '')
  // A dummy hash that no known secret has, so that an empty list takes as long as a list of one.
  const standIn = randomBytes(SECRET_BYTES)
  return {
    generate() {
      const untagged = newSecret(prefix)
      const secret = untagged + tagOf(untagged)
      return { secret, hash: hash(secret) }
    },

    hash,

    isGenuine(secret) {
      const [untagged, tag] = [secret.slice(0, -TAG_LENGTH), secret.slice(-TAG_LENGTH)]
      return untagged.startsWith(prefix) && isSame(Buffer.from(tag), Buffer.from(tagOf(untagged)))
    },

    matches(secret, hashes) {
      const given = hash(secret)
      let found = false
      for (const candidate of hashes.length === 0 ? [standIn] : hashes) {
        // Constant-time: the comparison stands first, so that a match does not skip the rest.
        found = isSame(given, candidate) || found
      }
      return found && hashes.length > 0
    },
  }
}

function newSecret(prefix: string): string {
  return prefix + randomBytes(SECRET_BYTES).toString('base64url')
}
