/**
 * The buffered output of the log, to a stream such as standard error, whose reader may be slow, stuck or gone.
 *
 * Lines are buffered for some milliseconds, because a write costs more than a line. A process that is killed loses them. Lines
 * beyond the limit of the buffer are dropped and counted: a full disk or a stuck reader costs the log, not the service.
 */
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** The limit of the buffer, in characters, with what the stream has not written. */
const MAX_BUFFERED = 1024 * 1024

/** The buffer is flushed after so many milliseconds, or earlier when it has so many characters. */
const FLUSH_AFTER = 10
const FLUSH_LENGTH = 16 * 1024

export class LogOutput {
  readonly #stream: Writable
  #lines = ''
  #dropped = 0
  #timer: NodeJS.Timeout | undefined

  constructor(stream: Writable) {
    this.#stream = stream
    stream.on('error', () => {})
  }

  write(line: string): void {
    if (this.#buffered + line.length > MAX_BUFFERED) {
      this.#dropped += 1
      return
    }
    if (this.#dropped > 0) this.#reportDropped()
    this.#lines += line
    if (this.#lines.length >= FLUSH_LENGTH) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_AFTER).unref()
  }

  /** Writes the buffer to the stream. Synchronous, so that a process can do it at its exit. */
  flush(onWritten: (error?: Error | null) => void = () => {}): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const lines = this.#lines
    this.#lines = ''
    this.#stream.write(lines, onWritten)
  }

  /** Flushes and waits for the stream, up to so many milliseconds. @returns Whether everything is written. */
  async written(milliseconds: number): Promise<boolean> {
    const written = new Promise<boolean>((resolve) => this.flush((error) => resolve(!error)))
    return await Promise.race([written, delay(milliseconds, false, { ref: false })])
  }

  get #buffered(): number {
    return this.#lines.length + this.#stream.writableLength
  }

  #reportDropped(): void {
    const facts = { level: 'warn', time: new Date(), lines: this.#dropped }
    this.#lines += `${JSON.stringify({ ...facts, msg: 'log lines were dropped, because the log was not read fast enough' })}\n`
    this.#dropped = 0
  }
}
