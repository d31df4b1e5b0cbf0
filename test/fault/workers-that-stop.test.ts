/**
 * How several workers end: by signals, one that hangs, and when their first process is killed.
 */
import { once } from 'node:events'
import { json } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import type { KeyturnProcess } from '../support/keyturn.ts'
import { isRunning } from '../support/proc.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'
import { formOf, getFresh, pidOf, WorkerFixture } from './worker-fixture.ts'

const fixture = new WorkerFixture()
/** Tests that look at single processes. */
const onLinux = itUnless(NOT_LINUX)

beforeEach(() => fixture.begin())
afterEach(() => fixture.end())

async function exitOf({ process }: KeyturnProcess): Promise<{ code: number | null; signal: string | null }> {
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
  return { code: process.exitCode, signal: process.signalCode }
}

describe('several workers that are told to stop', () => {
  for (const [how, target] of [
    ['by a signal to the first process', (pid: number) => pid],
    ['by a signal to all of them, as Ctrl-C sends it', (pid: number) => -pid],
  ] as const) {
    onLinux(`${how} answer what they have begun, and leave nothing behind`, async () => {
      const running = await fixture.start(3, {}, { leadsGroup: true })
      const form = await formOf(running)
      const begun = await Promise.all(Array.from({ length: 12 }, () => fixture.beginRequest(running, form)))
      process.kill(target(pidOf(running)), how.includes('Ctrl-C') ? 'SIGINT' : 'SIGTERM')
      await eventually(async () => {
        await expect(getFresh(`${running.listenUrl}/healthz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      })
      for (const { request } of begun) request.end(form)
      for (const { response } of begun) {
        const [answer] = await response
        expect({ status: answer.statusCode, body: await json(answer) }).toMatchObject({
          status: 200,
          body: { token_type: 'Bearer' },
        })
      }
      expect(await exitOf(running)).toEqual({ code: 0, signal: null })
      expect(fixture.workers.filter(isRunning)).toEqual([])
    })
  }

  onLinux('do not wait for ever for one that hangs', async () => {
    const running = await fixture.start(2)
    process.kill(fixture.workers[0]!, 'SIGSTOP')
    expect(await running.stop()).toBe(0)
    expect(fixture.workers.filter(isRunning)).toEqual([])
    expect(running.output().stderr).toContain('a worker did not stop in time and is ended')
  })

  onLinux('stop by themselves if the first process is killed, and still answer what they have begun', async () => {
    const running = await fixture.start(3)
    const form = await formOf(running)
    const begun = await Promise.all(Array.from({ length: 6 }, () => fixture.beginRequest(running, form)))
    await running.kill()
    await eventually(async () => {
      await expect(getFresh(`${running.listenUrl}/healthz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    })
    for (const { request } of begun) request.end(form)
    for (const { response } of begun) {
      const [answer] = await response
      expect(await json(answer)).toMatchObject({ token_type: 'Bearer' })
    }
    await eventually(() => expect(fixture.workers.filter(isRunning)).toEqual([]))
  })
})
