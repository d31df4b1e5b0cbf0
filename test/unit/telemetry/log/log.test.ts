import { expect, it } from '@jest/globals'
import { CleanupStack, withCleanup } from '../../../../src/server/cleanup-stack.ts'
import { describeError } from '../../../../src/telemetry/log/log.ts'

it('the log has every failure of a cleanup, and the error before it', async () => {
  const failed = await withCleanup(async (stack) => {
    stack.defer(() => Promise.reject(new Error('the database')))
    stack.defer(() => {})
    stack.defer(() => Promise.reject(new Error('the port')))
    throw new Error('the start', { cause: new Error('the reason') })
  }).catch((error: unknown) => error)
  expect(describeError(failed)).toMatchObject({
    message: 'the start',
    errors: [
      { message: 'the start', cause: { message: 'the reason' } },
      { message: 'the port; the database', errors: [{ message: 'the port' }, { message: 'the database' }] },
    ],
  })
})

it('a cleanup runs once, in the reverse order, and passes a single failure on as it is', async () => {
  const ran: string[] = []
  const stack = new CleanupStack()
  const failure = new Error('the second')
  stack.defer(() => void ran.push('first'))
  stack.defer(() => {
    ran.push('second')
    throw failure
  })
  await expect(stack.disposeAsync()).rejects.toBe(failure)
  await expect(stack.disposeAsync()).rejects.toBe(failure)
  expect(ran).toEqual(['second', 'first'])
})
