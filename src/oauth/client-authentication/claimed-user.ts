/**
 * The service user that a request claims to be from: from memory if possible, and read from the database before a denial.
 *
 * A user that is not in memory may have been created on another replica a moment ago. So each denial costs one read, whether the
 * user is in memory, only in the database, or does not exist; without the database nothing is denied.
 */
import type { IncomingMessage } from 'node:http'
import type { AttemptLimiter } from '../../app/access/attempt-limiter.ts'
import { isLive } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { ClientSecrets } from '../../domain/integrity.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'

/** Finds service users and compares their secrets. */
export interface ClientDirectory {
  /** A service user from memory. Undefined: it is not in memory, but may exist. */
  recallServiceUser(userId: string): ServiceUser | undefined
  /** A service user as the database has it now. @throws {DomainError} `storage_unavailable`. */
  readServiceUser(userId: string): Promise<ServiceUser | undefined>
  readonly secrets: ClientSecrets
}

/** What reading a user needs. */
export interface ReadOptions {
  readonly directory: ClientDirectory
  readonly attempts: Pick<AttemptLimiter, 'leaveOpen'>
  readonly contexts: Pick<RequestContext, 'addressOf'>
}

/** What a request has proved: a secret, the possession of one of these keys, a federated identity, or a client certificate. */
export type Proof =
  | { readonly kind: 'secret'; readonly secretId: string }
  | { readonly kind: 'key'; readonly keyIds: readonly string[] }
  | { readonly kind: 'federated'; readonly identityId: string }
  | { readonly kind: 'certificate'; readonly certificateId: string }

/** The identity that a request claims. */
export interface Claim {
  readonly userId: string
  readonly clientId: string
}

/** Reads the user from the database. An attempt that fails for lack of the database counts, so that an outage allows no guessing. */
export async function readClaimedUser(
  req: IncomingMessage,
  { userId, clientId }: Claim,
  { directory, attempts, contexts }: ReadOptions,
): Promise<ServiceUser | undefined> {
  try {
    return await directory.readServiceUser(userId)
  } catch (error) {
    attempts.leaveOpen({ name: clientId, address: contexts.addressOf(req) })
    throw error
  }
}

const LOOKUP = Symbol('lookup')

/** The result of a read. */
interface Lookup {
  readonly userId: string
  /** Undefined: there is no such user. */
  readonly user: ServiceUser | undefined
}

type RequestWithLookup = IncomingMessage & { [LOOKUP]?: Lookup }

/** Keeps a result with the request, so that oidc-provider need not read the user again. */
export function rememberLookup(req: RequestWithLookup, lookup: Lookup): void {
  req[LOOKUP] = lookup
}

/** The result that the request has for this user id. */
export function rememberedLookup(req: RequestWithLookup, userId: string): Lookup | undefined {
  const lookup = req[LOOKUP]
  return lookup?.userId === userId ? lookup : undefined
}

export class ClaimedUser {
  readonly #read: () => Promise<ServiceUser | undefined>
  #user: ServiceUser | undefined
  #confirming: Promise<void> | undefined
  #isConfirmed: boolean
  proof: Proof | undefined

  /**
   * @param user From memory; undefined if it is not there.
   * @param read Reads it from the database; null if `user` has been read for this request.
   */
  constructor(user: ServiceUser | undefined, read: (() => Promise<ServiceUser | undefined>) | null) {
    this.#user = user
    this.#isConfirmed = read === null
    this.#read = read ?? (async () => user)
  }

  get user(): ServiceUser | undefined {
    return this.#user
  }

  /** Whether `user` has been read from the database for this request. */
  get isConfirmed(): boolean {
    return this.#isConfirmed
  }

  /** Reads the user from the database, once. @throws {DomainError} `storage_unavailable`, each time. */
  confirm(): Promise<void> {
    this.#confirming ??= this.#confirm()
    return this.#confirming
  }

  /** Whether the user is enabled and the proved credential is live. */
  hasProved(now: Date): boolean {
    return this.#user !== undefined && this.isProvedFor(this.#user, now)
  }

  /** The same for the user as it is known elsewhere. */
  isProvedFor(user: ServiceUser, now: Date): boolean {
    if (!user.enabled || this.proof === undefined) return false
    if (this.proof.kind === 'key') {
      const live = user.keys.filter((key) => isLive(key, now)).map(({ keyId }) => keyId)
      const { keyIds } = this.proof
      return keyIds.length > 0 && keyIds.every((keyId) => live.includes(keyId))
    }
    if (this.proof.kind === 'federated') {
      const { identityId } = this.proof
      return user.federatedIdentities.some((identity) => identity.identityId === identityId)
    }
    if (this.proof.kind === 'certificate') {
      const { certificateId } = this.proof
      return user.certificates.some((each) => each.certificateId === certificateId && isLive(each, now))
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
