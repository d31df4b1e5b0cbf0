/**
 * Who is calling at the console and whether they may: the session of the cookie, and permissions looked up live.
 *
 * The session, what it came from and its user are read from the database for every call, so that what is revoked on one replica is refused on all others
 * at once (decision 32). It fails closed: any error is a refusal.
 */
import { type ConsoleSession, LAST_USE_SECONDS } from '../../domain/console/sign-ins.ts'
import { databaseBusy } from '../../domain/errors.ts'
import {
  assertAuthorized,
  assertPermitted,
  authenticated,
  invalidSession,
  type UserAuthority,
} from '../../domain/identities/authority.ts'
import type { Permission } from '../../domain/identities/permission.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { Secrets } from '../../domain/integrity.ts'
import type { ConsoleStore } from '../../domain/ports/console.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { after } from '../../domain/time.ts'
import type { AuthenticatedCaller } from '../access/access.ts'
import type { AttemptLimiter } from '../access/attempt-limiter.ts'
import type { Replica } from '../replica/replica.ts'

const LOOKUPS = { maxRunning: 4, maxWaiting: 100, refusal: databaseBusy }

export interface SessionAccessOptions {
  readonly replica: Pick<Replica, 'guard' | 'isStandby' | 'keys'>
  readonly store: Pick<ConsoleStore, 'findSession' | 'recordUse'>
  readonly users: Pick<IdentityStore, 'findUser'>
  readonly secrets: Pick<Secrets, 'isGenuine' | 'hash'>
  readonly attempts: Pick<AttemptLimiter, 'assertMayTry' | 'fail'>
  readonly digest: (text: string) => string
  /** By it sessions are judged on a standby, whose clock has not dated them. */
  readonly now: () => Date
}

export interface PresentedCookie {
  readonly cookie: string | undefined
  readonly address: string
  /** Whether a person did something, so that the session is not idle. */
  readonly isUse: boolean
}

export interface SessionCaller extends AuthenticatedCaller {
  readonly session: ConsoleSession
}

interface FoundSession {
  readonly session: ConsoleSession
  readonly user: ServiceUser | undefined
  readonly now: Date
}

export class SessionAccess {
  readonly #options: SessionAccessOptions
  readonly #lookups = new Semaphore(LOOKUPS)

  constructor(options: SessionAccessOptions) {
    this.#options = options
  }

  /**
   * The caller, if the cookie is that of an open session of an enabled user. A cookie that this instance did not make counts as a failed
   * authentication, and costs no query.
   * @throws {DomainError} `console_session_invalid`; `storage_unavailable`; `too_many_failures` before any work is done.
   */
  async authenticate({ cookie, address, isUse }: PresentedCookie): Promise<SessionCaller> {
    const { replica, store, secrets, attempts, digest } = this.#options
    if (cookie === undefined) throw invalidSession()
    if (!secrets.isGenuine(cookie)) {
      const attempt = { name: digest(cookie), address }
      attempts.assertMayTry(attempt)
      attempts.fail(attempt)
      throw invalidSession()
    }
    replica.guard.assertReadable()
    const { session, user, now } = await this.#find(secrets.hash(cookie))
    const { sessionId, origin } = session
    const credential = { kind: 'console_session', sessionId, origin } as const
    const owner = authenticated(credential, { user, session, ring: replica.keys().ring, now })
    const isDue = isUse && after(session.lastUsedAt, LAST_USE_SECONDS) <= now
    // A standby takes no note of it, so that a session which is used there only becomes idle.
    if (isDue && !replica.isStandby()) await store.recordUse(sessionId)
    return { user: owner, session, credential, nextNonce: null }
  }

  async authorize({ user, credential }: AuthenticatedCaller, permission: Permission): Promise<UserAuthority> {
    return { kind: 'user', userId: user.userId, permission, reach: assertPermitted(user, permission), credential }
  }

  /**
   * Checks again a right that was granted, against the database.
   * @returns The right as it is now.
   * @throws {DomainError} `console_session_invalid`, `permission_missing`, `storage_unavailable`.
   */
  async reauthorize(authority: UserAuthority): Promise<UserAuthority> {
    const { credential } = authority
    if (credential.kind !== 'console_session') throw new Error(`${credential.kind} is no session`)
    this.assertStorageReachable()
    const { session, user, now } = await this.#find(credential.sessionId)
    const { reach } = assertAuthorized(authority, { user, session, ring: this.#options.replica.keys().ring, now })
    return { ...authority, reach }
  }

  /** @throws {DomainError} `storage_unavailable` at once, so that the caller does not wait for the database in vain. */
  assertStorageReachable(): void {
    this.#options.replica.guard.assertCurrent()
  }

  /** @throws {DomainError} `console_session_invalid` if there is none. */
  #find(key: Uint8Array | string): Promise<FoundSession> {
    const { replica, store, users, now } = this.#options
    return this.#lookups.run(async () => {
      const found = await store.findSession(key)
      if (found === undefined) throw invalidSession()
      const { session, clock } = found
      return { session, user: await users.findUser(session.userId), now: replica.isStandby() ? now() : clock }
    })
  }
}
