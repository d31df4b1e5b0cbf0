/** What each comparison shows of the database: whether it is a primary, how old the state of a standby is, and how far its clock is off. */
import type { InstanceStatus } from '../../domain/ports/instance.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import { MAX_CLOCK_OFFSET_SECONDS } from '../../domain/time.ts'

export interface DatabaseRoleOptions {
  readonly log: Pick<Log, 'info'>
}

/** A heartbeat, and when this process saw it first, by the monotonic clock. */
interface SeenHeartbeat {
  readonly date: number
  readonly seenAt: number
}

/**
 * Whether the database is a primary or a hot standby, and how old the state is that a standby has replayed.
 *
 * It is read with each comparison, so that a standby which is promoted is a primary without a restart.
 *
 * A connection to a standby says nothing about the connection from there to the primary. Replicas on the primary write heartbeats, and
 * the newest one that has arrived bounds the age of all that has: by the clock of the database, and by how long this process has seen no
 * change of it. The second makes up for the clock of a standby that is behind that of its primary.
 */
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

/** In seconds, without a warning. */
const TOLERANCE = 5

/**
 * How far the clock of the database is ahead of the clock of this machine, by the last comparison. Neither is corrected by the other
 * (decision 15): whose clock is wrong is for NTP and the operator to say.
 */
export class ClockOffset {
  readonly #log: Log
  #seconds = 0

  constructor({ log }: { readonly log: Log }) {
    this.#log = log
  }

  get seconds(): number {
    return this.#seconds
  }

  /** Whether changes may be made by themselves, which the clock of the database dates. */
  get isTolerable(): boolean {
    return Math.abs(this.#seconds) <= MAX_CLOCK_OFFSET_SECONDS
  }

  observe(seconds: number): void {
    const wasOff = this.#isOff()
    this.#seconds = seconds
    if (this.#isOff() === wasOff) return
    const facts = { offsetSeconds: seconds }
    if (wasOff) this.#log.info(facts, 'the clocks of this machine and of the database agree again')
    else this.#log.warn(facts, 'the clocks of this machine and of the database differ: check the time of both')
  }

  whyNotReady(): string | undefined {
    return this.isTolerable ? undefined : `${this.#text()}, the limit is ${MAX_CLOCK_OFFSET_SECONDS} s`
  }

  warnings(): readonly string[] {
    return this.#isOff() ? [this.#text()] : []
  }

  #isOff(): boolean {
    return Math.abs(this.#seconds) > TOLERANCE
  }

  #text(): string {
    const direction = this.#seconds > 0 ? 'ahead of' : 'behind'
    return `the clock of the database is ${Math.round(Math.abs(this.#seconds))} s ${direction} that of this machine: check the time of both`
  }
}
