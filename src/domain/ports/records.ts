/** What is recorded in the database without a change of the instance. `storage/` implements these. */
import type { Heartbeat, SeenReplicas } from '../replicas.ts'

/** What the use of credentials leaves in the database. It is no change of the instance. */
export interface CredentialUses {
  /** Notes when secrets were last used. Dates only move forward; unknown ids are left out. */
  recordSecretUses(uses: ReadonlyMap<string, Date>): Promise<void>
  /**
   * Marks the assertion of a client, or a DPoP proof, as used, in all replicas.
   *
   * @param id Stands for one assertion of one client, or one proof with one key, at most 200 characters.
   * @param expiresAt The mark may be deleted from then on.
   * @returns Whether this was its first use.
   */
  useAssertionOnce(id: string, expiresAt: Date): Promise<boolean>
}

/** The replicas in the database. No method makes a change of the instance. All throw {DomainError} `storage_unavailable`. */
export interface ReplicaStore {
  /** Writes that a replica runs, and forgets others that have been gone for long. */
  beat(heartbeat: Heartbeat): Promise<void>
  /** Forgets a replica that stops. */
  remove(replicaId: string): Promise<void>
  /** By their start, oldest first. */
  list(): Promise<SeenReplicas>
}
