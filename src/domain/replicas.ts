/**
 * What replicas say about themselves, and what follows from when they last said it.
 *
 * Each writes a heartbeat to the database while it runs. It is shown to operators, and by the newest one a replica on a standby knows how old
 * its state is.
 */

/**
 * How often a replica writes its heartbeat, in seconds. Half of the 10 seconds for which tokens go on when a newer state cannot be
 * taken over, so that the reason is shown before they end.
 */
export const HEARTBEAT_SECONDS = 5

/** From then on a replica has missed two heartbeats, in seconds. */
export const OVERDUE_SECONDS = 12

/** From then on a replica is taken to have ended, in seconds. */
const GONE_SECONDS = 60

/** The least `KEYTURN_MAX_STALENESS` on a standby, in seconds: two heartbeats may be missed. */
export const MIN_STANDBY_STALENESS_SECONDS = 3 * HEARTBEAT_SECONDS

/** How long a replica that is gone is remembered, in seconds. */
export const GONE_KEPT_SECONDS = 3600

/** How many replicas are remembered: those that were seen last. */
export const MAX_REPLICAS = 200

export interface Heartbeat {
  /** Random, and another one after each start. */
  readonly replicaId: string
  /** Empty if the machine has no name of its own. */
  readonly hostName: string
  readonly keyturnVersion: string
  readonly startedAt: Date
  /** The version of the instance in its memory. */
  readonly version: number
  /** How long the last change took to get there, at most. Null: there has been none. */
  readonly lagSeconds: number | null
  readonly ready: boolean
  /** Why it is not ready; empty if it is. */
  readonly reason: string
}

export interface SeenReplica extends Heartbeat {
  readonly lastSeenAt: Date
  /** By the clock of the database. Negative if that has gone back. */
  readonly secondsSinceSeen: number
  /** How many changes the replica lacked when it was last seen. */
  readonly versionsBehind: number
}

/** Replicas, and the newest version of the instance. */
export interface SeenReplicas {
  readonly replicas: readonly SeenReplica[]
  readonly newestVersion: number
}

/** `overdue`: it cannot write to the database, or has ended without saying so. */
export type Presence = 'seen' | 'overdue' | 'gone'

export function presenceOf({ secondsSinceSeen }: Pick<SeenReplica, 'secondsSinceSeen'>): Presence {
  const distance = Math.abs(secondsSinceSeen)
  if (distance >= GONE_SECONDS) return 'gone'
  return distance >= OVERDUE_SECONDS ? 'overdue' : 'seen'
}

/**
 * How many changes a replica lacks, as far as that is known. One that is seen learns of a change within about a second, so that its own
 * count stands until the next heartbeat. For one that is not seen, the changes since its last heartbeat count too.
 */
export function changesLacking(replica: SeenReplica, newestVersion: number): number {
  if (presenceOf(replica) === 'seen') return replica.versionsBehind
  return Math.max(replica.versionsBehind, newestVersion - replica.version)
}
