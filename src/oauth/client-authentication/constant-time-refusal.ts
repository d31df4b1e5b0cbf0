/**
 * When a failed authentication is answered, so that its time does not tell whose it was.
 *
 * Every one of them has waited for the database once (`named-user.ts`). What is left, such as the time that the database takes
 * to find a row and not none, is covered by answering at whole multiples of a time.
 */
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** In milliseconds since the request. With a database that is near, all failures are answered at the first one. */
const FAILURE_EVERY = 50

const BEGUN = Symbol('begun')

/** A request, perhaps with the time at which its authentication began. */
type Authenticated = IncomingMessage & { [BEGUN]?: number }

/** From now on the time that passes may tell something about a user. The first call counts. */
export function beginAuthentication(req: Authenticated): void {
  req[BEGUN] ??= performance.now()
}

/** Waits until a failure may be answered. */
export async function untilFailureMayBeTold(req: Authenticated): Promise<void> {
  const now = performance.now()
  await delay(millisecondsUntilTold(now - (req[BEGUN] ?? now)))
}

/** How long a failure waits that is known after so many milliseconds. */
export function millisecondsUntilTold(passed: number): number {
  const told = Math.max(1, Math.ceil(passed / FAILURE_EVERY)) * FAILURE_EVERY
  return told - passed
}
