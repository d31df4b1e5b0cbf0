/**
 * The time of the instance, so that what is about to happen is shown when it does, whatever the clock of this machine says.
 */
import { signal } from '@preact/signals'

/** How far the instance is ahead of the clock of this machine, in milliseconds. */
let offset = 0

/** A smaller difference is none, in milliseconds: a response takes a while. */
const NOTICED = 1000

/** Now, in milliseconds. Changes once a second while the page is visible. */
export const now = signal(Date.now())

/** Learns the time of the instance. */
export function setInstanceTime(at: number): void {
  const ahead = at - Date.now()
  offset = Math.abs(ahead) < NOTICED ? 0 : ahead
}

/** Lets the time pass. */
export function tick(): void {
  now.value = Date.now() + offset
}
