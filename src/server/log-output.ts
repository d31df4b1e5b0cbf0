/**
 * Where log lines go: a stream such as standard error, whose reader may be slow, stuck or gone.
 *
 * The lines of one turn of the event loop are written together. What the stream does not take is kept up to a limit and
 * then dropped, and counted: a full disk or a reader that does not read costs the log, not the service.
 */
import type { Writable } from 'node:stream'

/** How much is kept for a stream that does not take it, in characters. */
const MAX_WAITING = 1024 * 1024

/** How often it is looked whether everything has been written, in milliseconds. */
const LOOK_EVERY = 10

export class LogOutput {
  readonly #stream: Writable
  #lines = ''
  #dropped = 0
  #flush: NodeJS.Immediate | undefined

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
    this.#flush ??= setImmediate(() => this.flush())
  }

  /** Hands everything to the stream, which is the last that can be done in a process that exits. */
  flush(): void {
    clearImmediate(this.#flush)
    this.#flush = undefined
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
