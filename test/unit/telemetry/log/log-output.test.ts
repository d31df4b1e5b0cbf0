import { Writable } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import { LogOutput } from '../../../../src/telemetry/log/log-output.ts'

const LINE = `${'x'.repeat(999)}\n`

/** A stream whose writes end only when the test calls `take`. */
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
  it('is bounded when the reader is stuck, and reports how many lines were dropped', async () => {
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
    const [report, after] = reader.writes.at(-1)?.trim().split('\n') ?? []
    expect(JSON.parse(report ?? '')).toMatchObject({
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
