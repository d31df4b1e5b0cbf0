/**
 * The time by the server's clock, so that what is about to happen is shown when it does, whatever the clock of this machine says.
 */
import { signal } from '@preact/signals'

/** How far the server's clock is ahead of this one, in milliseconds. */
let offset = 0

/** A smaller difference is none: a response says the second only, and takes a while. */
const NOTICED = 3000

/** Now, in milliseconds. Changes once a second while the page is visible. */
export const now = signal(Date.now())

/** Learns the server's time. */
export function setServerTime(at: number): void {
  const ahead = at - Date.now()
  offset = Math.abs(ahead) < NOTICED ? 0 : ahead
}

/** Lets the time pass. */
export function tick(): void {
  now.value = Date.now() + offset
}
