import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import {
  type ActivationRules,
  type KeyRing,
  planActivation,
  planCreation,
  planDeletion,
  planPublication,
  type SealedKeyPair,
} from '../../../../src/domain/keys/key-ring.ts'
import { activate, createWebKey, deactivate, publish, type WebKey } from '../../../../src/domain/keys/web-key.ts'
import { applySteps } from './apply-steps.ts'

const seconds = (count: number): Date => new Date(Date.UTC(2030, 0, 1) + count * 1000)

const pairNamed = (keyId: string): SealedKeyPair => ({
  keyId,
  algorithm: 'EdDSA',
  publicJwk: { kty: 'OKP', crv: 'Ed25519', x: keyId },
  sealedPrivateKey: `sealed ${keyId}`,
})

const initial = publish(createWebKey(pairNamed('initial'), seconds(0)), seconds(0))
const active = activate(createWebKey(pairNamed('active'), seconds(0)), seconds(1))
const inactive = deactivate(activate(createWebKey(pairNamed('inactive'), seconds(0)), seconds(1)), seconds(2))
const ring: KeyRing = [initial, active, inactive]

const rules: ActivationRules = { guard: 'warn', jwksMaxAgeSeconds: 300 }
const later = { ...rules, now: seconds(1000) }

function refusalOf(command: () => unknown): DomainError {
  try {
    command()
  } catch (error) {
    if (error instanceof DomainError) return error
    throw error
  }
  throw new Error('it was not refused')
}

describe('creating a web key', () => {
  it('adds it in state initial, with its sealed private key [Spec §4.3 rule 1]', () => {
    const { steps, result } = planCreation(ring, pairNamed('new'), { now: seconds(9), maxWebKeys: 50 })
    expect(result).toEqual(createWebKey(pairNamed('new'), seconds(9)))
    expect(result.state).toBe('initial')
    expect(steps).toEqual([{ kind: 'add', key: result, sealedPrivateKey: 'sealed new' }])
  })

  it('is allowed up to the limit, and refused from there on', () => {
    const options = { now: seconds(9), maxWebKeys: 3 }
    expect(planCreation(ring.slice(1), pairNamed('new'), options).steps).toHaveLength(1)
    const refusal = refusalOf(() => planCreation(ring, pairNamed('new'), options))
    expect(refusal.code).toBe('web_key_limit_reached')
    expect(refusal.message).toContain('at most 3')
  })
})

describe('activating a web key', () => {
  it('makes the key that was active inactive, before the other becomes active [Spec §3]', () => {
    const { steps, result } = planActivation(ring, 'initial', later)
    expect(steps).toEqual([
      { kind: 'transition', key: deactivate(active, later.now) },
      { kind: 'transition', key: activate(initial, later.now) },
    ])
    expect(result).toEqual({ key: activate(initial, later.now) })
  })

  it('makes the first key active', () => {
    expect(planActivation([initial], 'initial', later).steps).toEqual([
      { kind: 'transition', key: activate(initial, later.now) },
    ])
  })

  it('changes nothing if it is active already', () => {
    expect(planActivation(ring, 'active', { ...later, guard: 'enforce', now: seconds(2) })).toEqual({
      steps: [],
      result: { key: active },
    })
  })

  it('brings back an inactive key, which verifiers know, whatever its age', () => {
    const { steps, result } = planActivation(ring, 'inactive', { ...rules, guard: 'enforce', now: seconds(3) })
    expect(steps.map((step) => step.kind === 'transition' && [step.key.keyId, step.key.state])).toEqual([
      ['active', 'inactive'],
      ['inactive', 'active'],
    ])
    expect(result.key).toEqual(activate(inactive, seconds(3)))
    expect(result).not.toHaveProperty('knownFrom')
  })

  it('is refused for an inactive key whose private key has been destroyed', () => {
    const refusal = refusalOf(() => planActivation([active, { ...inactive, hasPrivateKey: false }], 'inactive', later))
    expect(refusal).toMatchObject({ code: 'web_key_private_key_destroyed', metadata: { key_id: 'inactive' } })
  })

  it.each(['initial', 'inactive'])('is refused for an %s key whose private key cannot be opened', (keyId) => {
    const refusal = refusalOf(() => planActivation(ring, keyId, { ...later, undecryptable: new Set([keyId]) }))
    expect(refusal).toMatchObject({ code: 'web_key_cannot_be_opened', metadata: { key_id: keyId } })
    const { result } = planActivation(ring, keyId, { ...later, undecryptable: new Set(['active']) })
    expect(result.key).toMatchObject({ keyId, state: 'active' })
  })

  it('is refused for an unknown key', () => {
    const refusal = refusalOf(() => planActivation(ring, 'unknown', later))
    expect(refusal.code).toBe('web_key_not_found')
    expect(refusal.metadata).toEqual({ key_id: 'unknown' })
  })

  describe('that verifiers may not know yet', () => {
    it('succeeds and says from when they know it, if the guard warns [Spec §8]', () => {
      const { steps, result } = planActivation(ring, 'initial', { ...rules, now: seconds(299) })
      expect(steps).toHaveLength(2)
      expect(result).toEqual({ key: activate(initial, seconds(299)), knownFrom: seconds(300) })
    })

    it('is refused with the time from which it is allowed, if the guard enforces [Spec §8]', () => {
      const options = { ...rules, guard: 'enforce', now: seconds(299) } as const
      const refusal = refusalOf(() => planActivation(ring, 'initial', options))
      expect(refusal.code).toBe('web_key_too_young')
      expect(refusal.metadata).toEqual({ key_id: 'initial', allowed_from: seconds(300).toISOString() })
    })

    it('succeeds without a word if the guard is off', () => {
      const { result } = planActivation(ring, 'initial', { ...rules, guard: 'off', now: seconds(299) })
      expect(result).toEqual({ key: activate(initial, seconds(299)) })
    })

    it.each([300, 0])('has not ended while the publication is not dated (cache time %d s) [Spec §8]', (cache) => {
      const undated = [createWebKey(pairNamed('undated'), seconds(0))]
      const options = { jwksMaxAgeSeconds: cache, now: seconds(9000) }
      const refusal = refusalOf(() => planActivation(undated, 'undated', { ...options, guard: 'enforce' }))
      const allowed_from = seconds(9000 + cache).toISOString()
      expect(refusal).toMatchObject({ code: 'web_key_too_young', metadata: { key_id: 'undated', allowed_from } })
      expect(refusal.message).toContain('its publication has not been confirmed')
      const { result } = planActivation(undated, 'undated', { ...options, guard: 'warn' })
      expect(result.knownFrom).toEqual(seconds(9000 + cache))
    })

    it.each(['warn', 'enforce'] as const)('ends with the cache time of the key set (guard %s) [Spec §8]', (guard) => {
      const { result } = planActivation(ring, 'initial', { ...rules, guard, now: seconds(300) })
      expect(result).toEqual({ key: activate(initial, seconds(300)) })
    })
  })
})

describe('dating the publication', () => {
  it('dates every initial key that has no date, and nothing else', () => {
    const [one, two] = ['one', 'two'].map((keyId) => createWebKey(pairNamed(keyId), seconds(3))) as [WebKey, WebKey]
    const { steps } = planPublication([...ring, one, two], { now: seconds(9) })
    expect(steps).toEqual([one, two].map((key) => ({ kind: 'transition', key: { ...key, publishedAt: seconds(9) } })))
    expect(planPublication(applySteps([...ring, one, two], steps), { now: seconds(10) }).steps).toEqual([])
  })
})

describe('deleting a web key', () => {
  it('removes an inactive one and tells when [Spec §4.3 rule 4]', () => {
    expect(planDeletion(ring, 'inactive', { now: seconds(9) })).toEqual({
      steps: [{ kind: 'remove', keyId: 'inactive' }],
      result: seconds(9),
    })
  })

  it.each([
    ['the active key', 'active', 'web_key_active', '[Spec §3 rule 1]'],
    ['an initial key', 'initial', 'web_key_not_inactive', '[Spec §4.3 rule 4]'],
    ['an unknown key', 'unknown', 'web_key_not_found', '[Spec §7]'],
  ])('is refused for %s (%s: %s) %s', (_, keyId, code) => {
    const refusal = refusalOf(() => planDeletion(ring, keyId, { now: seconds(9) }))
    expect(refusal.code).toBe(code)
    expect(refusal.metadata).toEqual({ key_id: keyId })
  })
})
