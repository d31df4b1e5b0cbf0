import { expect, it } from '@jest/globals'
import { describeFailure } from '../../../src/cli/failure.ts'

it('the message of a command names its failure before the failure of its clean-up', () => {
  const error = new SuppressedError(new Error('the database cannot be closed'), new Error('no such owner'))
  expect(describeFailure(error)).toBe('no such owner; then the database cannot be closed')
})
