/**
 * The service user that a request claims to be from, and what it has proved: from memory if possible, and read from the database before a
 * denial.
 *
 * A user that is not in memory may have been created on another replica a moment ago. So each denial costs one read, whether the
 * user is in memory, only in the database, or does not exist; without the database nothing is denied (decision 12).
 */
import { errors } from 'oidc-provider'
import { isLive } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { GrantFacts } from '../../domain/ports/runtime.ts'

/** What a request has proved: a secret, the possession of one of these keys, a federated identity, or a client certificate. */
export interface Proof {
  readonly kind: GrantFacts['credential']
  /** Their ids. All of them must be live. */
  readonly credentialIds: readonly string[]
}

export class ClaimedUser {
  readonly projectName: string
  readonly #read: (() => Promise<ServiceUser | undefined>) | null
  #user: ServiceUser | undefined
  #confirming: Promise<void> | undefined
  proof: Proof | undefined

  /**
   * @param user From memory; undefined if it is not there.
   * @param read Reads it from the database; null if there can be none.
   */
  constructor(
    projectName: string,
    user: ServiceUser | undefined,
    read: (() => Promise<ServiceUser | undefined>) | null,
  ) {
    this.projectName = projectName
    this.#user = user
    this.#read = read
  }

  get user(): ServiceUser | undefined {
    return this.#user
  }

  get proved(): ServiceUser {
    if (this.#user === undefined || this.proof === undefined) throw new Error('the client has not been authenticated')
    return this.#user
  }

  /** Whether `user` has been read from the database for this request, or cannot be. */
  get isConfirmed(): boolean {
    return this.#read === null || this.#confirming !== undefined
  }

  /** Reads the user from the database, once. @throws {DomainError} `storage_unavailable`, each time. */
  confirm(): Promise<void> {
    this.#confirming ??= (async () => {
      if (this.#read !== null) this.#user = await this.#read()
    })()
    return this.#confirming
  }

  /** The same for an authenticated client, before a denial. @throws `invalid_client` if its credential is not live any more. */
  async confirmProved(now: () => Date): Promise<void> {
    await this.confirm()
    if (this.#user === undefined || !this.isProvedFor(this.#user, now()))
      throw new errors.InvalidClientAuth('the proved credential is not live any more')
  }

  /** Whether the user, as it is known elsewhere, is enabled and the proved credential is live. */
  isProvedFor(user: ServiceUser, now: Date): boolean {
    const { proof } = this
    if (!user.enabled || proof === undefined) return false
    const live = user.credentials.filter((each) => isLive(each, now)).map(({ credentialId }) => credentialId)
    return proof.credentialIds.length > 0 && proof.credentialIds.every((id) => live.includes(id))
  }
}
