/**
 * The service user that a request names: from memory if it is there, and before anything is denied by it, as the database
 * has it.
 *
 * What is not in memory may have been made on another replica a moment ago, or while this one is cut off from the database.
 * So each denial costs one look at the database, whether the user is in memory, is not, or does not exist, and while the
 * database cannot be asked there is none.
 */
import type { IncomingMessage } from 'node:http'
import type { AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import { isLive } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { ClientSecrets } from '../../domain/integrity.ts'
import type { RequestContext } from '../../domain/ports.ts'

/** Where service users are, and how their secrets are compared. */
export interface ClientDirectory {
  /** A service user that is in memory. Undefined means nothing. */
  recallServiceUser(userId: string): ServiceUser | undefined
  /** A service user as the database has it now. @throws {DomainError} `storage_unavailable`. */
  readServiceUser(userId: string): Promise<ServiceUser | undefined>
  readonly secrets: ClientSecrets
}

/** What looking a user up takes. */
export interface LookUpOptions {
  readonly directory: ClientDirectory
  readonly attempts: Pick<AttemptLimiter, 'leaveOpen'>
  readonly notes: Pick<RequestContext, 'addressOf'>
}

/** What has been proved: a secret, or the possession of one of these keys. */
export type Proof =
  | { readonly kind: 'secret'; readonly secretId: string }
  | { readonly kind: 'key'; readonly keyIds: readonly string[] }

/** Who a request says it is from. */
export interface Named {
  readonly userId: string
  readonly clientId: string
}

/** Reads a user from the database. An attempt that cannot be judged counts, or an outage would be a time to guess. */
export async function readNamed(
  req: IncomingMessage,
  { userId, clientId }: Named,
  { directory, attempts, notes }: LookUpOptions,
): Promise<ServiceUser | undefined> {
  try {
    return await directory.readServiceUser(userId)
  } catch (error) {
    attempts.leaveOpen({ name: clientId, address: notes.addressOf(req) })
    throw error
  }
}

export class NamedUser {
  readonly #read: () => Promise<ServiceUser | undefined>
  #user: ServiceUser | undefined
  #confirming: Promise<void> | undefined
  #isConfirmed: boolean
  /** What the request has proved. */
  proof: Proof | undefined

  /**
   * @param user As it is in memory; undefined if it is not there.
   * @param read Reads it from the database; null if that was done for this request.
   */
  constructor(user: ServiceUser | undefined, read: (() => Promise<ServiceUser | undefined>) | null) {
    this.#user = user
    this.#isConfirmed = read === null
    this.#read = read ?? (async () => user)
  }

  get user(): ServiceUser | undefined {
    return this.#user
  }

  /** Whether this is the user as the database has it. */
  get isConfirmed(): boolean {
    return this.#isConfirmed
  }

  /** Reads the user again, once. @throws {DomainError} `storage_unavailable`, each time. */
  confirm(): Promise<void> {
    this.#confirming ??= this.#confirm()
    return this.#confirming
  }

  /** Whether the proof is good for the user as it is known now. */
  hasProved(now: Date): boolean {
    const user = this.#user
    if (user?.enabled !== true || this.proof === undefined) return false
    if (this.proof.kind === 'key') {
      const live = user.keys.filter((key) => isLive(key, now)).map(({ keyId }) => keyId)
      const { keyIds } = this.proof
      return keyIds.length > 0 && keyIds.every((keyId) => live.includes(keyId))
    }
    const { secretId } = this.proof
    return user.secrets.some((secret) => secret.secretId === secretId && isLive(secret, now))
  }

  async #confirm(): Promise<void> {
    if (this.#isConfirmed) return
    this.#user = await this.#read()
    this.#isConfirmed = true
  }
}
