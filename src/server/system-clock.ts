/**
 * The clocks of this machine.
 */
import type { Clock } from '../domain/time.ts'

/** Timers do not keep the process alive. */
export const systemClock: Clock = {
  monotonic: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds).unref()
    return () => clearTimeout(timer)
  },
}

/** The time of day on this machine, which dates tokens and ends credentials. Changes are dated by the database. */
export function systemTime(): Date {
  return new Date()
}
