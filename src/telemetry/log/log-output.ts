/**
 * Where log lines go: a stream such as standard error, whose reader may be slow, stuck or gone.
 *
 * Lines are written together, a few milliseconds late: a write costs more than a line. A process that is killed loses as
 * much. What the stream does not take is kept up to a limit and then dropped, and counted: a full disk or a reader that does
 * not read costs the log, not the service.
 */
import type { Writable } from 'node:stream'

/** How much is kept for a stream that does not take it, in characters. */
const MAX_WAITING = 1024 * 1024

/** How long a line waits for others, in milliseconds, and how many characters they are together at most. */
const WRITE_AFTER = 10
const MAX_TOGETHER = 16 * 1024

/** How often it is looked whether everything has been written, in milliseconds. */
const LOOK_EVERY = 10

export class LogOutput {
  readonly #stream: Writable
  #lines = ''
  #dropped = 0
  #timer: NodeJS.Timeout | undefined

  constructor(stream: Writable) {
    this.#stream = stream
    stream.on('error', () => {})
  }

  /** Takes a line, with its end. */
  write(line: string): void {
    if (this.#waiting + line.length > MAX_WAITING) {
      this.#dropped += 1
      return
    }
    if (this.#dropped > 0) this.#tellOfDropped()
    this.#lines += line
    if (this.#lines.length >= MAX_TOGETHER) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), WRITE_AFTER).unref()
  }

  /** Hands everything to the stream, which is the last that can be done in a process that exits. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const lines = this.#lines
    this.#lines = ''
    if (lines !== '') this.#stream.write(lines)
  }

  /** Whether the stream has taken everything, at the latest after so many milliseconds. */
  async written(milliseconds: number): Promise<boolean> {
    this.flush()
    const deadline = performance.now() + milliseconds
    while (this.#waiting > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY))
    }
    return this.#waiting === 0
  }

  get #waiting(): number {
    return this.#lines.length + this.#stream.writableLength
  }

  #tellOfDropped(): void {
    const facts = { level: 'warn', time: new Date(), lines: this.#dropped }
    this.#lines += `${JSON.stringify({ ...facts, msg: 'log lines were dropped, because nobody took them' })}\n`
    this.#dropped = 0
  }
}
