import { describe, expect, it } from '@jest/globals'
import { KEY_ALGORITHM_NAMES, type KeyAlgorithm } from '../../../../src/domain/keys/key-algorithm.ts'
import { kindWarnings } from '../../../../src/domain/keys/kind-warnings.ts'

const ringOf = (...algorithms: KeyAlgorithm[]) => algorithms.map((algorithm) => ({ algorithm }))

describe('the warnings about a kind of key', () => {
  it.each(KEY_ALGORITHM_NAMES)('are none if a key of the ring is of the kind: %s', (algorithm) => {
    expect(kindWarnings(algorithm, ringOf(...KEY_ALGORITHM_NAMES))).toEqual([])
    expect(kindWarnings(algorithm, ringOf(algorithm))).toEqual([])
  })

  it.each(KEY_ALGORITHM_NAMES)(
    'name verifiers with an allow-list if no key of the ring is of the kind: %s',
    (algorithm) => {
      const others = ringOf(...KEY_ALGORITHM_NAMES.filter((name) => name !== algorithm))
      for (const ring of [others, ringOf()]) {
        const [first, ...more] = kindWarnings(algorithm, ring)
        expect(first).toContain(`no web key has the algorithm ${algorithm} yet`)
        for (const name of ['@okta/jwt-verifier', '@hapi/jwt', 'Spring Security']) expect(first).toContain(name)
        expect(more).toHaveLength({ EdDSA: 2, ES512: 1 }[algorithm as string] ?? 0)
      }
    },
  )

  it('name the verifiers that an Ed25519 key stops when it is published, and those that refuse its tokens', () => {
    const text = kindWarnings('EdDSA', ringOf('RS256')).join('\n')
    for (const name of ['node-jose 2.2', 'jsonwebtoken', 'Ruby', 'libjwt 1.x', 'mod_auth_openidc', 'HAProxy']) {
      expect(text).toContain(name)
    }
  })

  it('name the verifiers that a P-521 key stops when it is published', () => {
    const text = kindWarnings('ES512', ringOf('RS256', 'ES256')).join('\n')
    for (const name of ['firebase/php-jwt 7', 'jsonwebtoken 8 for Rust']) expect(text).toContain(name)
  })

  it.each(KEY_ALGORITHM_NAMES)(
    'fit into a header, several separated by semicolons: %s [RFC 9110 §5.5]',
    (algorithm) => {
      const warnings = kindWarnings(algorithm, ringOf())
      for (const warning of warnings) expect(warning).toMatch(/^[\x20-\x3a\x3c-\x7e]{1,300}$/)
      expect(warnings.join('; ').length).toBeLessThan(1000)
    },
  )
})
