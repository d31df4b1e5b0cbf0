import { expect, it } from '@jest/globals'
import { misfitOf, valueAt } from '../../../../src/domain/identities/federated-identity.ts'

it.each([
  ['/a', 1],
  ['/b/c', 2],
  ['/https:~1~1d.example~1e', 3],
  ['/~01', 4],
  ['/b', { c: 2 }],
  ['/b/d', undefined],
  ['/a/c', undefined],
  ['/constructor', undefined],
])('the JSON pointer %s refers to %j [RFC 6901 §4]', (pointer, value) => {
  expect(valueAt({ a: 1, b: { c: 2 }, 'https://d.example/e': 3, '~1': 4 }, pointer)).toEqual(value)
})

it('a token has every claim that the identity asks for', () => {
  const claims = [
    { pointer: '/ref', value: 'refs/heads/main' },
    { pointer: '/environment', value: 'production' },
  ]
  const identity = { issuerId: 'i', subject: 's', audience: null, claims }
  const misfit = (environment: string) => {
    const said = { ref: 'refs/heads/main', environment }
    return misfitOf(identity, { issuerId: 'i', subject: 's', audience: 'own', claims: said }, 'own')
  }
  expect([misfit('production'), misfit('staging')]).toEqual([undefined, '/environment'])
})
