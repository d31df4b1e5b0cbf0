/**
 * Keys, policies and moments for the tests of rotation. Times are seconds after one moment.
 */
import { algorithmOf, type PublicJwk, type WebKeyConfig } from '../../../../src/domain/keys/key-algorithm.ts'
import type { SealedKeyPair } from '../../../../src/domain/keys/key-ring.ts'
import type { Rotation } from '../../../../src/domain/keys/rotation.ts'
import type { RotationLimits, RotationPolicy } from '../../../../src/domain/keys/rotation-policy.ts'
import type { ActiveWebKey, InactiveWebKey, InitialWebKey } from '../../../../src/domain/keys/web-key.ts'
import { after } from '../../../../src/domain/time.ts'

export const HOUR = 3600
export const DAY = 24 * HOUR

export const RSA: WebKeyConfig = { kind: 'rsa', bits: 2048, hasher: 'sha256' }

/** So many seconds after the beginning of these tests. */
export function at(seconds: number): Date {
  return after(new Date(Date.UTC(2030, 0, 1)), seconds)
}

export const LIMITS: RotationLimits = {
  jwksMaxAgeSeconds: 300,
  tokenLifetimeSeconds: 12 * HOUR,
  maxStalenessSeconds: 600,
  maxWebKeys: 10,
}

/** A policy with easy numbers: 30 days, 2 days ahead, 5 days published, of these 3 to roll back. */
export const POLICY: RotationPolicy = {
  enabled: true,
  config: RSA,
  rotationIntervalSeconds: 30 * DAY,
  publishAheadSeconds: 2 * DAY,
  retentionSeconds: 5 * DAY,
  rollbackWindowSeconds: 3 * DAY,
  keepStandby: false,
}

/** A rotation without a request out of turn. */
export function rotationOf(changes: Partial<RotationPolicy> = {}, requestedAt: Date | null = null): Rotation {
  return { policy: { ...POLICY, ...changes }, requestedAt }
}

/** A key pair of a kind whose public key is none, but of the right length. */
export function pairOf(keyId: string, config: WebKeyConfig = RSA): SealedKeyPair {
  return { keyId, algorithm: algorithmOf(config), publicJwk: jwkOf(config), sealedPrivateKey: `sealed ${keyId}` }
}

/** Published as soon as it was created. */
export function initialKey(keyId: string, createdAt: Date, config: WebKeyConfig = RSA): InitialWebKey {
  return { ...factsOf(keyId, config), createdAt, publishedAt: createdAt, state: 'initial' }
}

/** As it is right after its creation. */
export function unpublishedKey(keyId: string, createdAt: Date, config: WebKeyConfig = RSA): InitialWebKey {
  return { ...initialKey(keyId, createdAt, config), publishedAt: null }
}

export function activeKeySince(keyId: string, activatedAt: Date, config: WebKeyConfig = RSA): ActiveWebKey {
  return { ...factsOf(keyId, config), createdAt: activatedAt, state: 'active', activatedAt }
}

export function inactiveKeySince(keyId: string, deactivatedAt: Date, hasPrivateKey = true): InactiveWebKey {
  const long = after(deactivatedAt, -30 * DAY)
  return { ...factsOf(keyId, RSA), createdAt: long, state: 'inactive', activatedAt: long, deactivatedAt, hasPrivateKey }
}

function factsOf(keyId: string, config: WebKeyConfig) {
  const { algorithm, publicJwk } = pairOf(keyId, config)
  return { keyId, algorithm, publicJwk }
}

function jwkOf(config: WebKeyConfig): PublicJwk {
  switch (config.kind) {
    case 'rsa':
      return { kty: 'RSA', n: 'A'.repeat(Math.ceil(config.bits / 6)), e: 'AQAB' }
    case 'ecdsa':
      return { kty: 'EC', crv: config.curve, x: '', y: '' }
    case 'ed25519':
      return { kty: 'OKP', crv: 'Ed25519', x: '' }
  }
}
