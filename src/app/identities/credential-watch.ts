/**
 * Looks for credentials that expire soon, every few minutes and apart from requests: announces them in the audit trail, and counts them
 * for the metrics.
 *
 * Every replica does. The database makes each announcement once (`CredentialExpiries`).
 */
import type { CredentialCounts, CredentialExpiries } from '../../domain/ports/identities.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { repeat } from '../concurrency/repeat.ts'

const EVERY = 5 * 60 * 1000

export interface CredentialWatchOptions {
  readonly expiries: CredentialExpiries
  readonly isWritable: () => boolean
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
}

export function watchCredentials({ expiries, isWritable, clock, log }: CredentialWatchOptions): {
  readonly counts: () => CredentialCounts | undefined
  readonly stop: () => Promise<void>
} {
  let counts: CredentialCounts | undefined
  const stop = repeat(
    async (signal) => {
      try {
        while (isWritable() && !signal.aborted && !(await expiries.announce()).isComplete);
        counts = await expiries.count()
      } catch (error) {
        counts = undefined
        if (!signal.aborted) log.warn({ err: error }, 'credentials that expire could not be looked for')
      }
    },
    { clock, everyMillis: EVERY, first: 'now' },
  )
  return { counts: () => counts, stop }
}
