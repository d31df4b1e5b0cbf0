/**
 * The codes of sign-in links and the cookies of sessions, with 256 random bits each, and the message authentication codes of their rows.
 *
 * Each ends in a tag, like a personal access token (decision 19). A row is believed for its MAC, so that the SHA-256 is enough as hash.
 */
import { hash } from 'node:crypto'
import type { SignInLink } from '../domain/console/sign-ins.ts'
import type { ConsoleSecrets } from '../domain/integrity.ts'
import type { DerivedKeys } from './integrity-key.ts'
import { assertSameMac, createRowMac } from './public-key-macs.ts'
import { createTaggedSecrets } from './tagged-secret.ts'

/** Prefixes by which secret scanners and people recognise a leaked secret. The tag covers them, so that neither can be the other. */
const CODE_PREFIX = 'ktn_link_'
const COOKIE_PREFIX = 'ktn_session_'

/** Makes secrets and codes. */
export function createConsoleSecrets(keys: Pick<DerivedKeys, 'consoleTags' | 'consoleRows'>): ConsoleSecrets {
  const codes = hashedSecrets(CODE_PREFIX, keys.consoleTags)
  const cookies = hashedSecrets(COOKIE_PREFIX, keys.consoleTags)
  const mac = createRowMac(keys.consoleRows)
  const ofLink: ConsoleSecrets['ofLink'] = ({ hash, ...facts }) => mac(['link', textOf(hash), ...textsOf(facts)])
  const ofSession: ConsoleSecrets['ofSession'] = ({ sessionId, hash, clientAddress, ...facts }) =>
    mac(['session', sessionId, textOf(hash), clientAddress, ...textsOf(facts)])
  return {
    generateCode() {
      const { secret: code, hash } = codes.generate()
      return { code, hash }
    },
    generateCookie() {
      const { secret: cookie, hash } = cookies.generate()
      return { cookie, hash }
    },
    hashCode: codes.hash,
    hashCookie: cookies.hash,
    ofLink,
    assertLink: (link, found) => assertSameMac(ofLink(link), found),
    ofSession,
    assertSession: (session, found) => assertSameMac(ofSession(session), found),
  }
}

function textsOf({ userId, origin, createdAt, expiresAt }: Omit<SignInLink, 'hash'>): readonly string[] {
  return [userId, JSON.stringify(origin), createdAt.toISOString(), expiresAt.toISOString()]
}

function hashedSecrets(prefix: string, key: Uint8Array) {
  const secrets = createTaggedSecrets(prefix, key)
  return {
    generate() {
      const secret = secrets.generate()
      return { secret, hash: sha256(secret) }
    },

    hash: (secret: string): Uint8Array | undefined => (secrets.isGenuine(secret) ? sha256(secret) : undefined),
  }
}

function sha256(text: string): Uint8Array {
  return hash('sha256', text, 'buffer')
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
