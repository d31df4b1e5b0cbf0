/** Background tasks: each is repeated until it is stopped. */
import type { Clock } from '../../domain/time.ts'

export interface RepeatOptions {
  readonly clock: Pick<Clock, 'after'>
  /** From the end of a run to the next. */
  readonly everyMillis: number
  /** At most so much is added, at random, so that replicas do not all do the same at the same time. Default 0. */
  readonly jitterMillis?: number
  /** Whether the first run is now, or after the first interval. */
  readonly first: 'now' | 'later'
}

/**
 * Runs a task again and again. It must not fail.
 * @param run Gets a signal that is aborted when the task is stopped.
 * @returns What stops it, and waits for a run under way.
 */
export function repeat(
  run: (signal: AbortSignal) => Promise<void>,
  { clock, everyMillis, jitterMillis = 0, first }: RepeatOptions,
): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  let cancel = () => {}
  let running = Promise.resolve()
  const runLater = () => {
    if (!signal.aborted) cancel = clock.after(everyMillis + Math.random() * jitterMillis, runNow)
  }
  const runNow = () => {
    running = run(signal).then(runLater)
  }
  if (first === 'now') runNow()
  else runLater()
  return async () => {
    stopping.abort()
    cancel()
    await running
  }
}
