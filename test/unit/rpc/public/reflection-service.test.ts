import type { HandlerContext } from '@connectrpc/connect'
import { describe, expect, it } from '@jest/globals'
import { reflectionService, Schema } from '../../../../src/rpc/public/reflection-service.ts'

describe('a stream of reflection', () => {
  it('ends with its signal, also while it waits for a request', async () => {
    const { serverReflectionInfo } = reflectionService(new Schema([]), [], () => {})
    const deadline = new AbortController()
    async function* silent() {
      await new Promise(() => {})
    }
    const context = { signal: deadline.signal } as HandlerContext
    const first = serverReflectionInfo(silent(), context)[Symbol.asyncIterator]().next()
    setImmediate(() => deadline.abort(new Error('too late')))
    await expect(first).rejects.toThrow('too late')
  })
})
