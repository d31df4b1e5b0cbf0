/**
 * What is exported is read back as it was, whatever names and values it has.
 */
import { create, type JsonObject, toJson } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ConfigurationSchema } from '../../../gen/iam/config/v2/configuration_pb.js'
import { parseConfiguration } from '../../../src/configuration-files/configuration.ts'
import { formatFile } from '../../../src/configuration-files/format.ts'
import { printable } from '../../../src/domain/printable.ts'

/** Texts that YAML gives a meaning to, and any others. */
const text = fc.oneof(
  fc.constantFrom(
    'yes',
    'no',
    'null',
    '~',
    '1',
    '0x1',
    '1e3',
    '.inf',
    '- a',
    'a: b',
    '# a',
    '*a',
    '&a',
    '!a',
    '|',
    '2030-01-01',
    ' a ',
    '\u009b31m',
    'a\u202eb\u2066',
  ),
  fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
  fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }),
)
const name = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,10}$/)
const role = fc.stringMatching(/^[A-Za-z0-9._:-]{1,10}$/)
const few = <T>(item: fc.Arbitrary<T>) => fc.uniqueArray(item, { maxLength: 3 })

const user = fc.record({
  project: name,
  name: text,
  scopes: few(text),
  instanceRoles: few(fc.constantFrom(1, 2)),
  managedProjects: fc
    .dictionary(name, fc.constantFrom(1, 2), { maxKeys: 3 })
    .map((roles) => Object.entries(roles).map(([project, role]) => ({ project, role }))),
  projectRoles: fc
    .dictionary(
      name,
      few(text).filter((roles) => roles.length > 0),
      { maxKeys: 3 },
    )
    .map((roles) => Object.entries(roles).map(([project, names]) => ({ project, roles: names }))),
  federatedIdentities: fc.array(
    fc.record({
      issuer: text,
      subject: text,
      audience: text,
      claims: fc
        .dictionary(fc.stringMatching(/^\/[a-z]{1,5}$/), text, { maxKeys: 3 })
        .map((claims) => Object.entries(claims).map(([pointer, value]) => ({ pointer, value }))),
    }),
    { maxLength: 2 },
  ),
  publicKeys: fc.array(
    fc.record(
      {
        publicJwk: fc.record({ kty: fc.constant('EC'), kid: text }).map((jwk) => JSON.stringify(jwk)),
        expirationDate: fc.option(fc.record({ seconds: fc.bigInt(0n, 4_000_000_000n) }), { nil: undefined }),
      },
      { requiredKeys: ['publicJwk'] },
    ),
    { maxLength: 2 },
  ),
  tokenLifetime: fc.record({ seconds: fc.bigInt(1n, 900_000n) }),
  tokenClaims: fc
    .dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1, maxKeys: 3 })
    .map((claims) => JSON.stringify(claims)),
  boundTokensRequired: fc.boolean(),
})

const configuration = fc
  .record({
    projects: fc.uniqueArray(fc.record({ name, roles: few(role) }), {
      maxLength: 3,
      selector: (project) => project.name,
    }),
    serviceUsers: fc.uniqueArray(user, {
      minLength: 1,
      maxLength: 3,
      selector: (each) => `${each.project} ${each.name}`,
    }),
  })
  .map((fields) => create(ConfigurationSchema, fields as object))

describe('a configuration', () => {
  it.each(['yaml', 'json'] as const)('is the same after it was written as %s and read', (format) => {
    fc.assert(
      fc.property(configuration, (message) => {
        const json = toJson(ConfigurationSchema, message) as JsonObject
        const file = { name: `copy.${format}`, text: formatFile(json, format) }
        expect(toJson(ConfigurationSchema, parseConfiguration([file]).configuration)).toEqual(json)
        // And a terminal shows all of it.
        expect(file.text.split('\n').map(printable).join('\n')).toBe(file.text)
      }),
      { numRuns: 100 },
    )
  })
})
