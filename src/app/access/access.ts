/**
 * Who is calling and whether they may: tokens of this service, with a DPoP proof if they are bound to a key (RFC 9449 §7.1), with the
 * client certificate that they are bound to (RFC 8705 §3), and permissions looked up live (Spec §5).
 *
 * It fails closed: any error is a refusal. Failed authentications are rate limited, and callers who prove themselves do not queue
 * behind those who do not (decision 19).
 */

import { DomainError, type DomainErrorCode, databaseBusy } from '../../domain/errors.ts'
import {
  assertAuthorized,
  assertPermitted,
  authenticated,
  type Credential,
  invalidPersonalAccessToken,
  type UserAuthority,
} from '../../domain/identities/authority.ts'
import { isPersonalAccessToken, liveCredentials } from '../../domain/identities/credential.ts'
import type { Permission } from '../../domain/identities/permission.ts'
import { isEmptyReach, permissionMissing, type Reach, reachOf } from '../../domain/identities/reach.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import { assertBoundTo } from '../../domain/identities/token-binding.ts'
import type { Secrets } from '../../domain/integrity.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import type { AccessTokenVerifier } from '../../domain/ports/verification.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { SingleFlightByKey } from '../concurrency/single-flight.ts'
import type { Replica } from '../replica/replica.ts'
import type { AttemptLimiter } from './attempt-limiter.ts'
import { type Dpop, notBound, type TokenUse } from './dpop.ts'
import { verifyWithNewestKeys } from './introspection.ts'

/** RFC 6750 §2.1, RFC 9449 §7.1. */
const AUTHORIZATION = /^(Bearer|DPoP) +([A-Za-z0-9._~+/-]+=*)$/i

/** The semaphore for look-ups of personal access tokens and of callers who have proved themselves. */
const LOOKUPS = { maxRunning: 4, maxWaiting: 100, refusal: databaseBusy }

export interface AccessOptions {
  readonly replica: Replica
  readonly verifier: AccessTokenVerifier
  readonly store: Pick<IdentityStore, 'findUserByPersonalAccessToken' | 'findUser'>
  readonly secrets: Secrets
  readonly attempts: Pick<AttemptLimiter, 'assertMayTry' | 'failName' | 'failAddress'>
  readonly dpop: Pick<Dpop, 'prove' | 'useOnce'>
  readonly digest: (text: string) => string
  readonly now: () => Date
}

export interface AuthenticatedCaller {
  readonly user: ServiceUser
  readonly credential: Credential
  /** A nonce for the next DPoP proof, to be sent to the caller; null if there is none. */
  readonly nextNonce: string | null
}

export class Access {
  readonly #options: AccessOptions
  readonly #lookups = new Semaphore(LOOKUPS)
  /** Reads callers who have proved themselves, before they are denied anything. */
  readonly #callers = new SingleFlightByKey((userId) => this.#lookups.run(() => this.#options.store.findUser(userId)))

  constructor(options: AccessOptions) {
    this.#options = options
  }

  /**
   * The caller, if the `Authorization` header has a valid token of an enabled user. A token that is refused counts as a failed
   * authentication; a header that is missing does not, and neither does a token that cannot be judged now.
   * @param address The IP address of the client; empty if it is not known.
   * @throws {DomainError} `token_missing`, `token_invalid`, `token_key_unknown`, `storage_unavailable`; `token_bound`,
   * `dpop_proof_invalid`, `dpop_nonce_required` for a bound token without a good proof; `token_certificate_mismatch`;
   * `too_many_failures` instead of these, and before any work is done for a token that was refused too often.
   */
  async authenticate(authorization: string | null, address: string, use: TokenUse): Promise<AuthenticatedCaller> {
    if (authorization === null || authorization === '') {
      throw new DomainError('token_missing', 'an access token is required: send "Authorization: Bearer <access token>"')
    }
    const { attempts, digest } = this.#options
    const [, scheme, token] = AUTHORIZATION.exec(authorization) ?? []
    const attempt = { name: digest(token ?? authorization), address }
    attempts.assertMayTry(attempt, 'name')
    try {
      return await this.#prove(token, scheme?.toLowerCase() === 'dpop', use)
    } catch (error) {
      if (isFailure(error)) {
        // Whatever the address: it costs a query.
        attempts.failName(attempt)
        // Not before: whoever has a valid token is served, however many invent tokens at its address.
        attempts.assertMayTry(attempt, 'address')
        attempts.failAddress(attempt)
      }
      throw error
    }
  }

  /**
   * The right of the caller to what needs this permission.
   * @throws {DomainError} `permission_missing` if the caller has it over nothing; `storage_unavailable`.
   */
  async authorize({ user, credential }: AuthenticatedCaller, permission: Permission): Promise<UserAuthority> {
    const { userId } = user
    const known = reachOf(user, permission)
    if (!isEmptyReach(known)) return { kind: 'user', userId, permission, reach: known, credential }
    const asStored = await this.#asStored(userId)
    if (asStored?.enabled !== true) throw permissionMissing(permission)
    return { kind: 'user', userId, permission, reach: assertPermitted(asStored, permission), credential }
  }

  /**
   * Checks again a right that was granted, against what this replica knows now. Personal access tokens are looked up in the
   * database again, without queueing behind unproved callers, and so are callers whose right is not over the whole instance.
   * @returns The right as it is now.
   * @throws {DomainError} `token_invalid`, `permission_missing`, `storage_unavailable`.
   */
  async reauthorize(authority: UserAuthority): Promise<UserAuthority> {
    const { replica, store, now } = this.#options
    const { userId, credential } = authority
    const isInMemory = credential.kind === 'access_token'
    const check = (user: ServiceUser | undefined): Reach =>
      assertAuthorized(authority, { user, ring: replica.keys().ring, now: now() }).reach
    replica.guard.assertCurrent()
    const user = await (isInMemory ? replica.identities.find(userId) : store.findUser(userId))
    try {
      const reach = check(user)
      // Memory may lack a role over another project, and what is out of reach is denied.
      if (reach.kind === 'instance' || !isInMemory) return { ...authority, reach }
    } catch {
      // Memory may be stale, so the database confirms a denial.
      await replica.confirm()
    }
    return { ...authority, reach: check(await this.#asStored(userId)) }
  }

  /** @throws {DomainError} `storage_unavailable` at once, so that the caller does not wait for the database in vain. */
  assertStorageReachable(): void {
    this.#options.replica.guard.assertCurrent()
  }

  async #prove(token: string | undefined, isDpop: boolean, use: TokenUse): Promise<AuthenticatedCaller> {
    if (token === undefined) {
      throw new DomainError('token_invalid', 'the header must read "Authorization: Bearer <access token>"')
    }
    if (!isPersonalAccessToken(token)) return this.#subjectOf(token, isDpop, use)
    if (isDpop) throw notBound('personal access token')
    if (!this.#options.secrets.isGenuine(token)) throw invalidPersonalAccessToken()
    return this.#ownerOf(token)
  }

  async #subjectOf(token: string, isDpop: boolean, use: TokenUse): Promise<AuthenticatedCaller> {
    const { replica, verifier, dpop, now } = this.#options
    const verified = await verifyWithNewestKeys(token, verifier, replica)
    const { subject, credential, boundTo } = verified
    if (boundTo?.kind === 'certificate') assertBoundTo(boundTo.thumbprint, use.certificate())
    const proof = await dpop.prove({ ...verified, accessToken: token, isDpop }, use)
    const inMemory = await replica.identities.find(subject)
    const caller = inMemory?.enabled === true ? inMemory : await this.#asStored(subject)
    const user = authenticated(credential, { user: caller, ring: replica.keys().ring, now: now() })
    if (proof !== null) await dpop.useOnce(proof)
    return { user, credential, nextNonce: proof?.nextNonce ?? null }
  }

  /** The caller as the database has it now. It does not queue behind the client IDs of the token endpoint. */
  async #asStored(userId: string): Promise<ServiceUser | undefined> {
    this.#options.replica.guard.assertReadable()
    return this.#callers.request(userId)
  }

  async #ownerOf(token: string): Promise<AuthenticatedCaller> {
    const { replica, store, secrets, now } = this.#options
    replica.guard.assertReadable()
    const hash = secrets.hash(token)
    const user = await this.#lookups.run(() => store.findUserByPersonalAccessToken(hash))
    const live = user === undefined ? [] : liveCredentials(user, 'personal_access_token', now())
    const used = live.find(({ hash }) => secrets.matches(token, [hash]))
    if (user === undefined || used === undefined || !user.enabled) throw invalidPersonalAccessToken()
    return {
      user,
      credential: { kind: 'personal_access_token', tokenId: used.credentialId, expiresAt: used.expiresAt },
      nextNonce: null,
    }
  }
}

const FAILURES: readonly DomainErrorCode[] = [
  'token_invalid',
  'token_key_unknown',
  'token_bound',
  'token_certificate_mismatch',
  'dpop_proof_invalid',
]

/** Whether the token itself, or the proof, is the reason of the refusal. */
function isFailure(error: unknown): boolean {
  return error instanceof DomainError && FAILURES.includes(error.code)
}
