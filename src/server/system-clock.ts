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

/** The time of day on this machine, which may jump. What is stored and issued is dated by `InstanceClock` instead. */
export function systemTime(): Date {
  return new Date()
}
