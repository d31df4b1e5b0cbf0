import { describe, expect, it } from '@jest/globals'
import { Batches } from '../../../../src/storage/identities/batches.ts'

function setUp(limits: { maxRunning?: number; maxItems?: number; maxWaiting?: number } = {}) {
  const running: { items: readonly number[]; end: () => void; fail: (error: Error) => void }[] = []
  const batches = new Batches<number, string>({
    run: (items) =>
      new Promise((resolve, reject) => {
        running.push({ items, end: () => resolve(items.map((item) => `result of ${item}`)), fail: reject })
      }),
    maxRunning: limits.maxRunning ?? 1,
    maxItems: limits.maxItems ?? 10,
    maxWaiting: limits.maxWaiting ?? 100,
    refusal: () => new Error('too many'),
  })
  return { batches, running }
}

describe('batches', () => {
  it('run at once what comes alone, and together what comes meanwhile', async () => {
    const { batches, running } = setUp()
    const results = [1, 2, 3].map((item) => batches.request(item))
    expect(running.map(({ items }) => items)).toEqual([[1]])
    running[0]!.end()
    expect(await results[0]).toBe('result of 1')
    expect(running.map(({ items }) => items)).toEqual([[1], [2, 3]])
    running[1]!.end()
    expect(await Promise.all(results)).toEqual(['result of 1', 'result of 2', 'result of 3'])
  })

  it('are as many and as large as they may be', async () => {
    const { batches, running } = setUp({ maxRunning: 2, maxItems: 2 })
    const results = [1, 2, 3, 4, 5].map((item) => batches.request(item))
    expect(running.map(({ items }) => items)).toEqual([[1], [2]])
    running[1]!.end()
    await results[1]
    expect(running.map(({ items }) => items)).toEqual([[1], [2], [3, 4]])
    running[0]!.end()
    await results[0]
    expect(running.map(({ items }) => items)).toEqual([[1], [2], [3, 4], [5]])
  })
})
