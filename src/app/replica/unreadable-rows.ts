/**
 * Handles reads that meet an unreadable row: the log names the row, which an operator has to repair, and the caller gets
 * `storage_unavailable`. The rows that a replica serves from memory are the matter of `staleness-guard.ts`.
 */
import { DomainError, UnreadableRow } from '../../domain/errors.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'

const UNREADABLE = 'what is asked for cannot be read from the database, the log says why'

/** Wraps a port that has methods only. They throw `storage_unavailable` instead of `UnreadableRow`, which is logged once a minute for each row. */
export type AroundRows = <Port extends object>(port: Port) => Port

export function refuseUnreadableRows(clock: Pick<Clock, 'monotonic'>, log: Log): AroundRows {
  const throttle = new LogThrottle()
  const refusal = (error: unknown): unknown => {
    if (!(error instanceof UnreadableRow)) return error
    const row = { kind: error.kind, id: error.id }
    if (throttle.admits(`${row.kind} ${row.id}`, clock.monotonic()))
      log.error({ err: error, row }, 'a row cannot be read')
    return new DomainError('storage_unavailable', UNREADABLE, { cause: error })
  }
  return <Port extends object>(port: Port): Port => {
    const methods = Object.entries(port).map(([name, call]) => [
      name,
      async (...args: readonly unknown[]): Promise<unknown> => {
        try {
          return await call(...args)
        } catch (error) {
          throw refusal(error)
        }
      },
    ])
    return Object.fromEntries(methods)
  }
}
