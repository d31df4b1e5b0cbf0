import { describe, expect, it } from '@jest/globals'
import type { KeyRing, SealedKeyPair } from '../../../../src/domain/keys/key-ring.ts'
import { planRevocation, type RevocationOptions } from '../../../../src/domain/keys/revocation.ts'
import {
  activate,
  createWebKey,
  deactivate,
  type InitialWebKey,
  publish,
  revoke,
} from '../../../../src/domain/keys/web-key.ts'
import { applySteps } from './apply-steps.ts'

const seconds = (count: number): Date => new Date(Date.UTC(2030, 0, 1) + count * 1000)

const edNamed = (keyId: string): SealedKeyPair => ({
  keyId,
  algorithm: 'EdDSA',
  publicJwk: { kty: 'OKP', crv: 'Ed25519', x: keyId },
  sealedPrivateKey: `sealed ${keyId}`,
})

const ecNamed = (keyId: string): SealedKeyPair => ({
  keyId,
  algorithm: 'ES256',
  publicJwk: { kty: 'EC', crv: 'P-256', x: keyId, y: keyId },
  sealedPrivateKey: `sealed ${keyId}`,
})

const CACHE = 300
const NOW = seconds(1000)
/** Published for exactly the cache time, and a second less. */
const KNOWN_SINCE = seconds(1000 - CACHE)
const YOUNG_SINCE = seconds(1001 - CACHE)

const initial = (pair: SealedKeyPair, publishedAt: Date): InitialWebKey =>
  publish(createWebKey(pair, seconds(0)), publishedAt)

const active = activate(createWebKey(edNamed('active'), seconds(0)), seconds(1))
const inactive = deactivate(activate(createWebKey(edNamed('inactive'), seconds(0)), seconds(1)), seconds(2))
const unpublished = createWebKey(edNamed('unpublished'), seconds(0))

const youngUnwanted = initial(ecNamed('young unwanted'), YOUNG_SINCE)
const youngWanted = initial(edNamed('young wanted'), YOUNG_SINCE)
const knownUnwanted = initial(ecNamed('known unwanted'), KNOWN_SINCE)
const knownWanted = initial(edNamed('known wanted'), KNOWN_SINCE)
const alsoKnownWanted = initial(edNamed('also known wanted'), KNOWN_SINCE)

const options: RevocationOptions = {
  now: NOW,
  jwksMaxAgeSeconds: CACHE,
  replacement: edNamed('replacement'),
  config: { kind: 'ed25519' },
}

/** The key that signs after the active one has been revoked. */
function successorIn(candidates: KeyRing, changes: Partial<RevocationOptions> = {}): string | undefined {
  return planRevocation([active, inactive, ...candidates], 'active', { ...options, ...changes })?.result.active?.keyId
}

describe('revoking the active key lets another take over', () => {
  // Each ring lacks the successor of the one before it.
  it.each([
    [
      'the oldest of the kind that every verifier knows',
      [youngUnwanted, youngWanted, knownUnwanted, knownWanted, alsoKnownWanted],
      'known wanted',
    ],
    ['one of another kind that every verifier knows', [youngUnwanted, youngWanted, knownUnwanted], 'known unwanted'],
    ['one of the kind that some verifiers know', [youngUnwanted, youngWanted], 'young wanted'],
    ['one of another kind that some verifiers know', [youngUnwanted], 'young unwanted'],
    ['one that may not be published yet', [unpublished], 'unpublished'],
    ['the replacement', [], 'replacement'],
  ])('first of all %s', (_which, candidates, expected) => {
    expect(successorIn(candidates)).toBe(expected)
  })

  it('the oldest that every verifier knows, if no kind is wanted', () => {
    const { config: _config, ...withoutConfig } = options
    const plan = planRevocation([active, youngWanted, knownUnwanted, knownWanted], 'active', withoutConfig)
    expect(plan?.result.active?.keyId).toBe('known unwanted')
  })

  it('never one whose private key cannot be opened', () => {
    const undecryptable = new Set(['known wanted', 'young wanted'])
    expect(successorIn([youngWanted, knownWanted, alsoKnownWanted], { undecryptable })).toBe('also known wanted')
    expect(successorIn([youngWanted, knownWanted], { undecryptable })).toBe('replacement')
  })

  it('in the same change, at the time of the revocation', () => {
    const ring = [active, knownWanted]
    const { steps, result } = planRevocation(ring, 'active', options)!
    const revoked = revoke(active, NOW)
    const successor = activate(knownWanted, NOW)
    expect(result).toEqual({ key: revoked, active: successor, trustedUntil: seconds(1000 + CACHE) })
    expect(steps).toEqual([
      { kind: 'revoke', key: revoked },
      { kind: 'transition', key: successor },
    ])
    expect(applySteps(ring, steps)).toEqual([successor])
  })

  it('and asks for a replacement if there is no other', () => {
    expect(planRevocation([active, inactive], 'active', { ...options, replacement: undefined })).toBeUndefined()
  })
})

describe('revoking a key that does not sign', () => {
  it.each([inactive, knownWanted])('leaves the active one alone: $state', (key) => {
    const { steps, result } = planRevocation([active, inactive, knownWanted], key.keyId, options)!
    const revoked = revoke(key, NOW)
    expect(steps).toEqual([{ kind: 'revoke', key: revoked }])
    expect(result).toEqual({ key: revoked, active, trustedUntil: seconds(1000 + CACHE) })
  })

  it('keeps the dates that the key had', () => {
    expect(revoke(knownWanted, NOW)).toMatchObject({ activatedAt: null, deactivatedAt: null, revokedAt: NOW })
    expect(revoke(active, NOW)).toMatchObject({ activatedAt: seconds(1), deactivatedAt: null, revokedAt: NOW })
    expect(revoke(inactive, NOW)).toMatchObject({ activatedAt: seconds(1), deactivatedAt: seconds(2), revokedAt: NOW })
  })
})
