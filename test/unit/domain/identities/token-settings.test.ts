import { describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../../src/domain/errors.ts'
import {
  parseTokenClaims,
  parseTokenLifetime,
  toTokenClaims,
} from '../../../../src/domain/identities/token-settings.ts'

function codeOf(act: () => unknown): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return error instanceof DomainError ? error.code : String(error)
  }
}

describe('the lifetime of the tokens of a user', () => {
  it.each([60, 61, 3599, 3600])('may be %d seconds if the limit is an hour', (seconds) => {
    expect(parseTokenLifetime(seconds, 3600)).toBe(seconds)
  })

  it.each([59, 0, -60, 3601, Number.NaN, Number.POSITIVE_INFINITY])('may not be %d seconds', (seconds) => {
    expect(codeOf(() => parseTokenLifetime(seconds, 3600))).toBe('token_lifetime_invalid')
  })
})

describe('the claims of a user', () => {
  it.each(['{}', '{"tenant":"a","level":{"of":[1,null,"ü"]},"https://example.com/x":true}'])('may be %s', (json) => {
    expect(parseTokenClaims(json)).toEqual(JSON.parse(json))
  })

  it.each([
    '',
    'x',
    'null',
    '[]',
    '"a"',
    '1',
    '{"a":1',
    '{"a":1e400}',
    String.raw`{"a":"\ud800"}`,
    String.raw`{"\u0000":1}`,
    '{"a":12345678901234567890}',
    `{"a":"${'x'.repeat(1993)}"}`,
  ])('may not be %.20s', (json) => {
    expect(codeOf(() => parseTokenClaims(json))).toBe('token_claims_invalid')
  })

  it.each([
    ...['iss', 'sub', 'aud', 'client_id', 'scope', 'cnf', 'roles', 'email', 'active'],
    ...['urn:service:iam:org:project:roles', 'urn:zitadel:iam:org:project:roles', '__proto__'],
  ])('may not have the name %s, which has a meaning already', (name) => {
    expect(codeOf(() => parseTokenClaims(`{"tenant":"a","${name}":"x"}`))).toBe('token_claims_invalid')
  })

  it('may be as long as 2000 characters', () => {
    expect(parseTokenClaims(`{"a":"${'x'.repeat(1992)}"}`)).toEqual({ a: 'x'.repeat(1992) })
  })

  it('that are stored may have a name that became registered later, and none that Keyturn sets', () => {
    expect(toTokenClaims({ email: 'x' })).toEqual({ email: 'x' })
    expect(codeOf(() => toTokenClaims({ jti: 'x' }))).toBe('token_claims_invalid')
    expect(codeOf(() => toTokenClaims([]))).toBe('token_claims_invalid')
  })
})
