/**
 * Constant-time refusal of failed authentications, so that the response time does not reveal which users exist.
 *
 * Every failure includes one read of the database (`claimed-user.ts`). The remaining differences, such as between a row that exists
 * and one that does not, are hidden by responding at multiples of 50 ms only.
 */
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** In milliseconds since the authentication began. With a database nearby, all failures are answered at the first multiple. */
const QUANTUM = 50

const STARTED_AT = Symbol('startedAt')

type AuthenticatedRequest = IncomingMessage & { [STARTED_AT]?: number }

/** Starts the clock of a request. Later calls change nothing. */
export function startAuthentication(req: AuthenticatedRequest): void {
  req[STARTED_AT] ??= performance.now()
}

/** Waits until a failure may be answered. */
export async function delayRefusal(req: AuthenticatedRequest): Promise<void> {
  const now = performance.now()
  await delay(refusalDelay(now - (req[STARTED_AT] ?? now)))
}

/** How long to delay a failure that took so many milliseconds. */
export function refusalDelay(elapsed: number): number {
  return Math.max(1, Math.ceil(elapsed / QUANTUM)) * QUANTUM - elapsed
}
