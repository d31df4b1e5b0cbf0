import { Writable } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import { LogOutput } from '../../../../src/telemetry/log/log-output.ts'
import { eventually } from '../../../support/eventually.ts'

const LINE = `${'x'.repeat(999)}\n`

/** A stream that takes a write only when it is told to. */
class Reader extends Writable {
  readonly writes: string[] = []
  #take: (() => void) | undefined

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.writes.push(String(chunk))
    this.#take = done
  }

  take(): void {
    const take = this.#take
    this.#take = undefined
    take?.()
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the output of the log', () => {
  it('writes lines together, soon', async () => {
    const reader = new Reader()
    const output = new LogOutput(reader)
    output.write('one\n')
    output.write('two\n')
    expect(reader.writes).toEqual([])
    await eventually(() => expect(reader.writes).toEqual(['one\ntwo\n']))
  })

  it('does not wait when there are many', () => {
    const reader = new Reader()
    const output = new LogOutput(reader)
    for (let i = 0; i < 20; i += 1) output.write(LINE)
    expect(reader.writes.map(({ length }) => length)).toEqual([17 * LINE.length])
  })

  it('writes at once what it has when the process exits', () => {
    const reader = new Reader()
    const output = new LogOutput(reader)
    output.write('the last line\n')
    output.flush()
    expect(reader.writes).toEqual(['the last line\n'])
  })

  it('keeps no more than a limit for a reader that is stuck, and tells how many lines that cost', async () => {
    const reader = new Reader()
    const output = new LogOutput(reader)
    for (let i = 0; i < 3000; i += 1) {
      output.write(LINE)
    }
    output.flush()
    expect(reader.writableLength).toBeLessThanOrEqual(1024 * 1024)
    const kept = reader.writableLength / LINE.length
    expect(kept).toBeGreaterThan(1000)

    while (reader.writableLength > 0) {
      reader.take()
      await turn()
    }
    output.write('after\n')
    output.flush()
    const [told, after] = reader.writes.at(-1)?.trim().split('\n') ?? []
    expect(JSON.parse(told ?? '')).toMatchObject({
      level: 'warn',
      lines: 3000 - kept,
      msg: expect.stringContaining('dropped'),
    })
    expect(after).toBe('after')
  })

  it('says whether everything has been written', async () => {
    const reader = new Reader()
    const output = new LogOutput(reader)
    expect(await output.written(0)).toBe(true)
    output.write('x\n')
    expect(await output.written(20)).toBe(false)
    const written = output.written(60_000)
    reader.take()
    expect(await written).toBe(true)
  })
})
