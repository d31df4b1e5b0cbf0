/**
 * Handles reads that meet an unreadable row: the log names the row, which an operator has to repair, and the caller gets
 * `storage_unavailable`. The rows that a replica serves from memory are the matter of `staleness-guard.ts`.
 */
import { DomainError } from '../../domain/errors.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { UnreadableRow } from '../../domain/unreadable-row.ts'

const UNREADABLE = 'what is asked for cannot be read from the database, the log says why'

/** What it needs. */
export interface UnreadableRowsOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

export class UnreadableRows {
  readonly #options: UnreadableRowsOptions
  readonly #throttle = new LogThrottle()

  constructor(options: UnreadableRowsOptions) {
    this.#options = options
  }

  /** The same port, whose methods throw `storage_unavailable` instead of `UnreadableRow`. */
  around<Port extends object>(port: Port): Port {
    const guarded = Object.entries(port).map(([method, call]) => [
      method,
      typeof call !== 'function' ? call : (...args: unknown[]) => this.refuse(() => call(...args)),
    ])
    return Object.fromEntries(guarded)
  }

  /** @throws {DomainError} `storage_unavailable` instead of `UnreadableRow`, which is logged once a minute for each row. */
  async refuse<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof UnreadableRow)) throw error
      const { clock, log } = this.#options
      const { kind, id } = error
      if (this.#throttle.admits(`${kind} ${id}`, clock.monotonic()))
        log.error({ err: error, row: { kind, id } }, 'a row cannot be read')
      throw new DomainError('storage_unavailable', UNREADABLE, { cause: error })
    }
  }
}
