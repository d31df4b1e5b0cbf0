import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parse } from 'yaml'
import { formatYaml } from '../../../src/configuration-files/format.ts'

describe('YAML', () => {
  it('is in block style, and quotes all strings', () => {
    const value = {
      users: [
        { userId: '0c1d', name: 'check out', enabled: true, roles: ['a:b', 'reader'] },
        { userId: 'abc', name: 'yes', count: 3, none: null, roles: [], more: {} },
      ],
    }
    expect(formatYaml(value).split('\n')).toEqual([
      'users:',
      '  - userId: "0c1d"',
      '    name: "check out"',
      '    enabled: true',
      '    roles:',
      '      - "a:b"',
      '      - "reader"',
      '  - userId: "abc"',
      '    name: "yes"',
      '    count: 3',
      '    none: null',
      '    roles: []',
      '    more: {}',
    ])
  })

  it.each(['1.1', '1.2'] as const)('is read as the same value by a parser of YAML %s', (version) => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.stringMatching(/^[\w.@/+-]{1,8}$/))
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(text, tie('value')),
      ),
    }))
    fc.assert(
      fc.property(value, (json) => {
        const plain = JSON.parse(JSON.stringify(json))
        expect(parse(formatYaml(plain), { version, uniqueKeys: false })).toEqual(plain)
      }),
      { numRuns: 100 },
    )
  })
})
