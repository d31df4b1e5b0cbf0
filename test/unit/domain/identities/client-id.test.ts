import { describe, expect, it } from '@jest/globals'
import { formatClientId, splitClientId } from '../../../../src/domain/identities/client-id.ts'

const userId = '0b6e2f5c-9a3d-4a57-8f65-0f8f0a4f8f11'

describe('a client id', () => {
  it('is the user id and the project name with an at sign between [Spec §1]', () => {
    expect(splitClientId(`${userId}@billing`)).toEqual({ userId, projectName: 'billing' })
    expect(formatClientId({ userId, projectName: 'billing' })).toBe(`${userId}@billing`)
  })

  it.each([
    '',
    '@',
    '@billing',
    userId,
    `${userId}@`,
    `${userId}@Billing`,
    `${userId}@-billing`,
    `${userId}@a@b`,
    `${userId}@${'a'.repeat(64)}`,
    'someone@billing',
    `${userId}@billing\n`,
    `${userId}\u0000@billing`,
  ])('is not %j', (text) => {
    expect(splitClientId(text)).toBeUndefined()
  })
})
