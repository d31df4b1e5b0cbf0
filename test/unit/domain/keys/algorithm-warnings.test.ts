import { describe, expect, it } from '@jest/globals'
import { algorithmWarnings } from '../../../../src/domain/keys/algorithm-warnings.ts'
import { KEY_ALGORITHM_NAMES, type KeyAlgorithm } from '../../../../src/domain/keys/key-algorithm.ts'

const ringOf = (...algorithms: KeyAlgorithm[]) => algorithms.map((algorithm) => ({ algorithm }))

describe('the warnings about a kind of key', () => {
  it.each(KEY_ALGORITHM_NAMES)('are none if a key of the ring is of the kind: %s', (algorithm) => {
    expect(algorithmWarnings(algorithm, ringOf(...KEY_ALGORITHM_NAMES))).toEqual([])
    expect(algorithmWarnings(algorithm, ringOf(algorithm))).toEqual([])
  })

  it.each(KEY_ALGORITHM_NAMES)(
    'name verifiers with an allow-list if no key of the ring is of the kind: %s',
    (algorithm) => {
      const others = ringOf(...KEY_ALGORITHM_NAMES.filter((name) => name !== algorithm))
      for (const ring of [others, ringOf()]) {
        const [first, ...more] = algorithmWarnings(algorithm, ring)
        expect(first).toContain(`no web key has the algorithm ${algorithm} yet`)
        for (const name of ['@okta/jwt-verifier', '@hapi/jwt', 'Spring Security']) expect(first).toContain(name)
        expect(more).toHaveLength({ EdDSA: 2, ES512: 2, RS256: 0, ES256: 0 }[algorithm as string] ?? 1)
      }
    },
  )

  it.each(KEY_ALGORITHM_NAMES)(
    'fit into a header, several separated by semicolons: %s [RFC 9110 §5.5]',
    (algorithm) => {
      const warnings = algorithmWarnings(algorithm, ringOf())
      for (const warning of warnings) expect(warning).toMatch(/^[\x20-\x3a\x3c-\x7e]{1,300}$/)
      expect(warnings.join('; ').length).toBeLessThan(1000)
    },
  )
})
