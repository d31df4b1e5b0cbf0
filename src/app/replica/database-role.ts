/**
 * Whether the database is a primary or a hot standby, and how old the state is that a standby has replayed.
 *
 * It is read with each comparison, so that a standby which is promoted is a primary without a restart.
 *
 * A connection to a standby says nothing about the connection from there to the primary. Replicas on the primary write heartbeats, and
 * the newest one that has arrived bounds the age of all that has: by the clock of the database, and by how long this process has seen no
 * change of it. The second makes up for the clock of a standby that is behind that of its primary.
 */
import type { InstanceStatus } from '../../domain/ports/instance.ts'
import type { Log } from '../../domain/ports/runtime.ts'

export interface DatabaseRoleOptions {
  readonly log: Pick<Log, 'info'>
}

/** A heartbeat, and when this process saw it first, by the monotonic clock. */
interface SeenHeartbeat {
  readonly date: number
  readonly seenAt: number
}

export class DatabaseRole {
  readonly #options: DatabaseRoleOptions
  /** Undefined: a primary, as far as is known. */
  #standby: { readonly newest: SeenHeartbeat | undefined } | undefined

  constructor(options: DatabaseRoleOptions) {
    this.#options = options
  }

  get isStandby(): boolean {
    return this.#standby !== undefined
  }

  /**
   * Takes the status of a comparison into account.
   * @param at When the comparison began, by the monotonic clock.
   * @returns How old what the database has is at most, in seconds: 0 for a primary, infinite for a standby without heartbeats.
   */
  observe({ standby, clock }: Pick<InstanceStatus, 'standby' | 'clock'>, at: number): number {
    const { log } = this.#options
    if (standby === null) {
      if (this.#standby !== undefined) log.info({}, 'the database has been promoted: it is a primary now')
      this.#standby = undefined
      return 0
    }
    if (this.#standby === undefined)
      log.info({}, 'the database is a standby: tokens are issued and reads answered, changes are refused')
    const newest = newestOf(this.#standby?.newest, standby.newestHeartbeat, at)
    this.#standby = { newest }
    if (newest === undefined) return Number.POSITIVE_INFINITY
    return Math.max(clock.databaseTime.getTime() - newest.date, at - newest.seenAt) / 1000
  }
}

function newestOf(known: SeenHeartbeat | undefined, arrived: Date | null, at: number): SeenHeartbeat | undefined {
  // A server that stops removes its heartbeat. If it was the last one, the state is as old as before.
  if (arrived === null) return known
  const date = arrived.getTime()
  return known?.date === date ? known : { date, seenAt: at }
}
