/**
 * How long a failed authentication takes at least, so that its time does not tell whose it was: some users have to be
 * looked up in the database, others are in memory, and others again do not exist.
 */
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** Longer than it takes to look a user up in the database, in milliseconds. */
const FAILURE_MILLISECONDS = 50

const BEGUN = Symbol('begun')

/** A request, perhaps with the time at which its authentication began. */
type Authenticated = IncomingMessage & { [BEGUN]?: number }

/** From now on the time that passes may tell something about a user. The first call counts. */
export function beginAuthentication(req: Authenticated): void {
  req[BEGUN] ??= performance.now()
}

/** Waits until a failure may be answered. */
export async function untilFailureMayBeTold(req: Authenticated): Promise<void> {
  const passed = performance.now() - (req[BEGUN] ?? performance.now())
  if (passed < FAILURE_MILLISECONDS) await delay(FAILURE_MILLISECONDS - passed)
}
