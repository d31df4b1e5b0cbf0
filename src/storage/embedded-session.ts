/**
 * One opening of an embedded database, in a thread of its own, until it is closed or breaks down.
 *
 * A session that has broken down never works again; `embedded-dialect.ts` opens the next one.
 */
import { Worker } from 'node:worker_threads'
import type { BROKEN, SessionAnswer, SessionRequest } from './embedded-thread.ts'

const THREAD = new URL('./embedded-thread.ts', import.meta.url)

/** How long opening may take, recovery after a crash included, and how long one statement, in milliseconds. */
const OPEN_TIMEOUT = 120_000
const STATEMENT_TIMEOUT = 60_000

/** Severities of errors after which PostgreSQL cannot be used any more. */
const ENDING: ReadonlySet<string | undefined> = new Set(['PANIC', 'FATAL'])

/** The database has broken down, or is not open: nothing can be said about it at the moment. */
export class EmbeddedDatabaseStopped extends Error {
  override readonly name = 'EmbeddedDatabaseStopped'
}

type Result = Extract<SessionAnswer, { rows: unknown[] }>

interface Waiting {
  resolve(result: Result): void
  reject(error: Error): void
}

export class EmbeddedSession {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #isOver = false

  private constructor(location: string) {
    this.#worker = new Worker(THREAD, { workerData: location, stdout: true, stderr: true })
    this.#worker.on('message', (answer: SessionAnswer | typeof BROKEN) => {
      if (typeof answer === 'string') this.#abandon()
      else this.#settle(answer)
    })
    // What a thread throws or prints is about its end, and whoever waits is told of that.
    this.#worker.on('error', () => {})
    this.#worker.on('exit', () => this.#end())
  }

  /** @param location As PGlite takes it: `file://…` or `memory://`. @throws {Error} if it cannot be opened. */
  static async open(location: string): Promise<EmbeddedSession> {
    const session = new EmbeddedSession(location)
    try {
      await session.#answerTo(0, OPEN_TIMEOUT)
    } catch (error) {
      await session.#worker.terminate()
      throw error
    }
    return session
  }

  /** Whether it has broken down or was closed. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Runs one statement. @throws {Error} PostgreSQL's error with its fields, or `EmbeddedDatabaseStopped`. */
  async query(sql: string, parameters: readonly unknown[]): Promise<Result> {
    return await this.#ask(sql, parameters)
  }

  /** Shuts the database down and ends the thread. */
  async close(): Promise<void> {
    if (!this.#isOver) await this.#ask(null, []).catch(() => {})
    await this.#worker.terminate()
  }

  #ask(sql: string | null, parameters: readonly unknown[]): Promise<Result> {
    if (this.#isOver) throw new EmbeddedDatabaseStopped('the embedded database has stopped')
    this.#lastId += 1
    const answer = this.#answerTo(this.#lastId, STATEMENT_TIMEOUT)
    this.#worker.postMessage({ id: this.#lastId, sql, parameters } satisfies SessionRequest)
    return answer
  }

  /** A thread that does not answer in time is ended: it would not answer the next one either. */
  async #answerTo(id: number, timeout: number): Promise<Result> {
    const timer = setTimeout(() => this.#abandon(), timeout)
    try {
      // Only while somebody waits does the thread keep the process alive.
      this.#worker.ref()
      return await new Promise<Result>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    } finally {
      clearTimeout(timer)
      if (this.#waiting.size === 0) this.#worker.unref()
    }
  }

  #settle(answer: SessionAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('rows' in answer) {
      waiting?.resolve(answer)
      return
    }
    waiting?.reject(Object.assign(new Error(answer.message), answer.facts))
    if (ENDING.has(answer.facts.severity)) this.#abandon()
  }

  #abandon(): void {
    this.#isOver = true
    void this.#worker.terminate()
  }

  #end(): void {
    this.#isOver = true
    const error = new EmbeddedDatabaseStopped('the embedded database has stopped while it was working')
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
