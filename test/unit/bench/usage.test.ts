import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, expect, it } from '@jest/globals'
import { sharedMegabytesOf } from '../../../bench/processes/usage.ts'
import { describeUnless, NOT_LINUX } from '../../support/unless.ts'

const started: ChildProcessWithoutNullStreams[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** A program that most of whose memory others on the machine have too: the C library. It has echoed a line, so all of it is loaded. */
async function startCat(): Promise<number> {
  const child = spawn('cat')
  started.push(child)
  child.stdin.write('a line\n')
  await once(child.stdout, 'data')
  return child.pid ?? 0
}

function rollupMegabytesOf(pid: number, field: 'Rss' | 'Pss'): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1]) / 1024
}

describeUnless(NOT_LINUX)('the memory that processes need together', () => {
  it('is all that one has in RAM, though other programs of the machine share some of it', async () => {
    const pid = await startCat()
    expect(rollupMegabytesOf(pid, 'Pss')).toBeLessThan(rollupMegabytesOf(pid, 'Rss') - 0.3)
    expect(sharedMegabytesOf([pid])).toBeCloseTo(rollupMegabytesOf(pid, 'Rss'), 1)
  })

  it('counts once what two of them share', async () => {
    const [one, other] = [await startCat(), await startCat()]
    const alone = sharedMegabytesOf([one])
    expect(sharedMegabytesOf([one, one])).toBe(alone)
    expect(sharedMegabytesOf([one, other])).toBeGreaterThan(alone)
    expect(sharedMegabytesOf([one, other])).toBeLessThan(1.5 * alone)
  })
})
