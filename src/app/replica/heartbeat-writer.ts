/**
 * Writes the heartbeat of this replica to the database, apart from requests. It is shown to operators, and tells replicas on standbys how
 * old their state is. A failure has no other consequence here than a line in the log.
 */
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { ReplicaStore } from '../../domain/ports/records.ts'
import type { Log, Readiness } from '../../domain/ports/runtime.ts'
import { HEARTBEAT_SECONDS, type Heartbeat } from '../../domain/replicas.ts'
import type { Clock } from '../../domain/time.ts'
import type { Replica } from './replica.ts'

/** What stays the same while the process runs. */
export type ReplicaIdentity = Pick<Heartbeat, 'replicaId' | 'hostName' | 'keyturnVersion' | 'startedAt'>

/** What the writer needs. */
export interface HeartbeatWriterOptions {
  readonly store: Pick<ReplicaStore, 'beat' | 'remove'>
  readonly identity: ReplicaIdentity
  readonly replica: Pick<Replica, 'status' | 'isReachable'>
  readonly readiness: () => Readiness
  /** Whether there is a database to write to. */
  readonly canWrite: () => boolean
  readonly clock: Clock
  readonly log: Log
}

/** The longest reason that is written. */
const MAX_REASON = 1000

export class HeartbeatWriter {
  readonly #options: HeartbeatWriterOptions
  readonly #throttle = new LogThrottle()
  #cancelTimer = () => {}
  #writing = Promise.resolve()
  #stopped = false

  constructor(options: HeartbeatWriterOptions) {
    this.#options = options
  }

  /** Writes the first one now, then one every few seconds. */
  start(): void {
    this.#writing = this.#beat().then(() => {
      if (this.#stopped) return
      this.#cancelTimer = this.#options.clock.after(HEARTBEAT_SECONDS * 1000, () => this.start())
    })
  }

  /** Waits for a heartbeat under way, and removes this replica from the list. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#writing
    const { store, identity } = this.#options
    await this.#unlessAway(() => store.remove(identity.replicaId))
  }

  #beat(): Promise<void> {
    const { store, identity, replica, readiness } = this.#options
    return this.#unlessAway(() => {
      const { version, lagSeconds } = replica.status()
      const state = readiness()
      const reason = state.ready ? '' : state.reason.slice(0, MAX_REASON)
      return store.beat({ ...identity, version, lagSeconds, ready: state.ready, reason })
    })
  }

  /** Without the database, which others have logged already, and on a standby without its primary nothing is tried. */
  async #unlessAway(write: () => Promise<void>): Promise<void> {
    const { replica, canWrite, clock, log } = this.#options
    if (!replica.isReachable() || !canWrite()) return
    try {
      await write()
    } catch (error) {
      if (!this.#throttle.admits(String(error), clock.monotonic())) return
      log.warn({ err: error }, 'the heartbeat of this replica could not be written')
    }
  }
}
