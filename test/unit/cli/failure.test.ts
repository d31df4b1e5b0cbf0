import { expect, it } from '@jest/globals'
import { describeFailure, exitCodeOf } from '../../../src/cli/failure.ts'
import { ConfigError } from '../../../src/config/config.ts'
import { withCleanup } from '../../../src/server/cleanup-stack.ts'

/** The error of a command that fails, and whose cleanup fails too. */
async function failTwice(error: Error): Promise<unknown> {
  const failing = withCleanup(async (stack) => {
    stack.defer(() => Promise.reject(new Error('the database cannot be closed')))
    throw error
  })
  return await failing.catch((failure: unknown) => failure)
}

it('the message of a command names its failure before the failure of its cleanup', async () => {
  const failure = await failTwice(new Error('no such owner'))
  expect(describeFailure(failure)).toBe('no such owner; then the database cannot be closed')
  expect(exitCodeOf(failure)).toBe(1)
})

it('a wrong configuration has its exit code also when the cleanup fails', async () => {
  expect(exitCodeOf(await failTwice(new ConfigError(['KEYTURN_LISTEN: wrong'])))).toBe(2)
})
