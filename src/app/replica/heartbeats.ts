/**
 * Writes the heartbeats of this replica to the database, apart from requests. They are shown to operators, and tell replicas on standbys how
 * old their state is. A failure has no other consequence here than a line in the log.
 */
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { ReplicaStore } from '../../domain/ports/records.ts'
import type { Log, Readiness } from '../../domain/ports/runtime.ts'
import { HEARTBEAT_SECONDS, type Heartbeat } from '../../domain/replicas.ts'
import type { Clock } from '../../domain/time.ts'
import { repeat } from '../concurrency/repeat.ts'
import type { Replica } from './replica.ts'

export type ReplicaIdentity = Pick<Heartbeat, 'replicaId' | 'hostName' | 'keyturnVersion' | 'startedAt'>

export interface HeartbeatOptions {
  readonly store: Pick<ReplicaStore, 'beat' | 'remove'>
  readonly identity: ReplicaIdentity
  readonly replica: Pick<Replica, 'state'>
  readonly readiness: () => Readiness
  /** Whether there is a database to write to, which was reached a moment ago. */
  readonly canWrite: () => boolean
  readonly clock: Clock
  readonly log: Log
}

const MAX_REASON = 1000

/** Writes one now and every few seconds, until the returned function is called: that removes this replica from the list. */
export function startHeartbeats(options: HeartbeatOptions): () => Promise<void> {
  const { store, identity, replica, readiness, canWrite, clock, log } = options
  const throttle = new LogThrottle()
  const unlessAway = async (write: () => Promise<void>): Promise<void> => {
    if (!canWrite()) return
    try {
      await write()
    } catch (error) {
      if (!throttle.admits(String(error), clock.monotonic())) return
      log.warn({ err: error }, 'the heartbeat of this replica could not be written')
    }
  }
  const beat = () => {
    const { version, lagSeconds } = replica.state
    const state = readiness()
    const reason = state.ready ? '' : state.reason.slice(0, MAX_REASON)
    return store.beat({ ...identity, version, lagSeconds, ready: state.ready, reason })
  }
  const stop = repeat(() => unlessAway(beat), { clock, everyMillis: HEARTBEAT_SECONDS * 1000, first: 'now' })
  return async () => {
    await stop()
    await unlessAway(() => store.remove(identity.replicaId))
  }
}
