import { expect, it } from '@jest/globals'
import { valueAt } from '../../../../src/domain/identities/federated-identity.ts'

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
