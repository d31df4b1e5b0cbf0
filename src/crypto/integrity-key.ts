/**
 * The integrity key of an instance: 32 random bytes, kept in the database as a JWE that only a master key opens, and the
 * keys that are derived from it, one for each use.
 */
import { hkdfSync, randomBytes } from 'node:crypto'
import type { Integrity, NewIntegrity } from '../domain/integrity.ts'
import { createDpopNonces } from './dpop-nonces.ts'
import type { MasterKeys } from './master-keys.ts'
import { createPublicKeyMacs } from './public-key-macs.ts'
import { createKeySealer } from './sealed-key.ts'
import { createInstanceSecrets } from './secrets.ts'

const KEY_BYTES = 32

/** The `info` of HKDF (RFC 5869) for each derived key. A released one must never change. */
const USES = {
  webKeys: 'keyturn web keys',
  revokedWebKeys: 'keyturn revoked web keys',
  trustedIssuers: 'keyturn trusted issuers',
  credentials: 'keyturn credentials',
  signInLinks: 'keyturn sign-in links',
  consoleSessions: 'keyturn console sessions',
  clientSecrets: 'keyturn client secrets',
  personalAccessTokens: 'keyturn personal access tokens',
  signInCodes: 'keyturn sign-in codes',
  sessionCookies: 'keyturn session cookies',
  dpopNonces: 'keyturn dpop nonces',
} as const

export type DerivedKeys = Readonly<Record<keyof typeof USES, Uint8Array>>

export function deriveKeys(integrityKey: Uint8Array): DerivedKeys {
  const derive = (info: string) => new Uint8Array(hkdfSync('sha256', integrityKey, new Uint8Array(), info, KEY_BYTES))
  return Object.fromEntries(Object.entries(USES).map(([use, info]) => [use, derive(info)])) as DerivedKeys
}

export function createIntegrity(keys: DerivedKeys): Integrity {
  return {
    publicKeys: createPublicKeyMacs(keys),
    secrets: createInstanceSecrets(keys),
    dpopNonces: createDpopNonces(keys.dpopNonces),
  }
}

export async function generateIntegrity(masterKeys: MasterKeys): Promise<NewIntegrity> {
  const key = randomBytes(KEY_BYTES)
  try {
    const sealedIntegrityKey = await createKeySealer(masterKeys).seal(key, { kind: 'integrity_key' })
    return { sealedIntegrityKey, ...createIntegrity(deriveKeys(key)) }
  } finally {
    key.fill(0)
  }
}

/** Opens an integrity key. @throws {Error} that says what to do. */
export async function openIntegrity(sealed: string, masterKeys: MasterKeys): Promise<Integrity> {
  return createIntegrity(await createKeySealer(masterKeys).use(sealed, { kind: 'integrity_key' }, deriveKeys))
}
