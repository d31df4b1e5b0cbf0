/**
 * Constant-time refusal of failed authentications, so that the response time does not reveal which users exist.
 *
 * Every failure includes one read of the database (`claimed-user.ts`). The remaining differences, such as between a row that exists
 * and one that does not, are hidden by responding at multiples of 50 ms only.
 */
import { setTimeout as delay } from 'node:timers/promises'

/** In milliseconds since the authentication began. With a database nearby, all failures are answered at the first multiple. */
const QUANTUM = 50

/** Waits until a failure may be answered. @param startedAt When the authentication began, by `performance.now()`. */
export async function delayRefusal(startedAt: number): Promise<void> {
  await delay(refusalDelay(performance.now() - startedAt))
}

/** How long to delay a failure that took so many milliseconds. */
export function refusalDelay(elapsed: number): number {
  return Math.max(1, Math.ceil(elapsed / QUANTUM)) * QUANTUM - elapsed
}
