import { expect, it } from '@jest/globals'
import { describeError } from '../../src/telemetry/log/log.ts'

it('the log has every failure of a clean-up, and the error before it', async () => {
  const stack = new AsyncDisposableStack()
  stack.defer(() => Promise.reject(new Error('the database')))
  stack.defer(() => {})
  stack.defer(() => Promise.reject(new Error('the port')))
  const failed = await stack.disposeAsync().catch((error: unknown) => error)
  const before = new Error('the start', { cause: new Error('the reason') })
  expect(describeError(new SuppressedError(failed, before))).toMatchObject({
    name: 'SuppressedError',
    suppressed: { message: 'the start', cause: { message: 'the reason' } },
    error: { error: { message: 'the database' }, suppressed: { message: 'the port' } },
  })
})
