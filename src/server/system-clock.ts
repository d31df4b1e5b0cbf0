/** What parts need of the platform: the clocks of this machine, and a digest. */
import { hash } from 'node:crypto'
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

export function digest(text: string): string {
  return hash('sha256', text, 'base64url')
}
