import { describe, expect, it } from '@jest/globals'
import { Semaphore } from '../../../../src/app/access/semaphore.ts'

/** Work that ends when it is told to. */
function work(): { run: () => Promise<string>; started: () => boolean; end: () => void; fail: () => void } {
  let started = false
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  return {
    run: () => {
      started = true
      return promise
    },
    started: () => started,
    end: () => resolve('done'),
    fail: () => reject(new Error('failed')),
  }
}

/** Lets everything that can go on do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('a semaphore', () => {
  it('lets so many run at a time, and the next one when one ends or fails', async () => {
    const semaphore = new Semaphore(2, 10)
    const [a, b, c, d] = [work(), work(), work(), work()]
    const outcomes = [a, b, c, d].map((one) => semaphore.run(one.run).catch(() => 'failed'))
    const running = () => [a, b, c, d].map((one) => one.started())
    await settle()
    expect(running()).toEqual([true, true, false, false])
    a.fail()
    await settle()
    expect(running()).toEqual([true, true, true, false])
    b.end()
    await settle()
    expect(running()).toEqual([true, true, true, true])
    for (const one of [c, d]) one.end()
    expect(await Promise.all(outcomes)).toEqual(['failed', 'done', 'done', 'done'])
  })

  it('refuses more when too many wait, and is open again later', async () => {
    const semaphore = new Semaphore(1, 1)
    const [running, waiting] = [work(), work()]
    const outcomes = [semaphore.run(running.run), semaphore.run(waiting.run)]
    await expect(semaphore.run(work().run)).rejects.toMatchObject({ code: 'storage_unavailable' })
    running.end()
    waiting.end()
    await Promise.all(outcomes)
    expect(await semaphore.run(async () => 'again')).toBe('again')
  })

  it('lets what goes first run before all others that wait, however many do, in a queue with a limit of its own', async () => {
    const semaphore = new Semaphore(1, 2)
    const running = work()
    const order: string[] = []
    const note = (name: string) => async () => void order.push(name)
    const outcomes: Promise<unknown>[] = [semaphore.run(running.run)]
    for (const name of ['a', 'b']) outcomes.push(semaphore.run(note(name)))
    for (const name of ['first', 'second']) outcomes.push(semaphore.runFirst(note(name)))
    await expect(semaphore.runFirst(note('third'))).rejects.toMatchObject({ code: 'storage_unavailable' })
    running.end()
    await Promise.all(outcomes)
    expect(order).toEqual(['first', 'second', 'a', 'b'])
  })
})
