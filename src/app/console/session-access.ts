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
import type { Secrets } from '../../domain/integrity.ts'
import type { ConsoleStore } from '../../domain/ports/console.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import { Semaphore } from '../../domain/semaphore.ts'
import { after, MAX_CLOCK_OFFSET_SECONDS } from '../../domain/time.ts'
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
  /** Sessions are judged by the clock of the machine, as tokens are; what changes them, by that of the database. */
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

export type SessionAccess = ReturnType<typeof createSessionAccess>

export function createSessionAccess(options: SessionAccessOptions) {
  const { replica, store, users, secrets, attempts, digest, now } = options
  const lookups = new Semaphore(LOOKUPS)

  /** What the end of a session depends on; its clock may be that of another machine. @throws {DomainError} `console_session_invalid` if there is none. */
  const find = (key: Uint8Array | string) =>
    lookups.run(async () => {
      const session = await store.findSession(key)
      if (session === undefined) throw invalidSession()
      return {
        session,
        user: await users.findUser(session.userId),
        ring: replica.keys().ring,
        now: after(now(), MAX_CLOCK_OFFSET_SECONDS),
      }
    })

  /** @throws {DomainError} `storage_unavailable` at once, so that the caller does not wait for the database in vain. */
  const assertStorageReachable = (): void => replica.guard.assertCurrent()

  return {
    /**
     * The caller, if the cookie is that of an open session of an enabled user. A cookie that this instance did not make counts as a failed
     * authentication, and costs no query.
     * @throws {DomainError} `console_session_invalid`; `storage_unavailable`; `too_many_failures` before any work is done.
     */
    async authenticate({ cookie, address, isUse }: PresentedCookie): Promise<SessionCaller> {
      if (cookie === undefined) throw invalidSession()
      if (!secrets.isGenuine(cookie)) {
        const attempt = { name: digest(cookie), address }
        attempts.assertMayTry(attempt)
        attempts.fail(attempt)
        throw invalidSession()
      }
      replica.guard.assertReadable()
      const facts = await find(secrets.hash(cookie))
      const { session } = facts
      const { sessionId, origin } = session
      const credential = { kind: 'console_session', sessionId, origin } as const
      const user = authenticated(credential, facts)
      const isDue = isUse && after(session.lastUsedAt, LAST_USE_SECONDS) <= facts.now
      // A standby takes no note of it, so that a session which is used there only becomes idle.
      if (isDue && !replica.isStandby()) await store.recordUse(sessionId)
      return { user, session, credential, nextNonce: null }
    },

    async authorize({ user, credential }: AuthenticatedCaller, permission: Permission): Promise<UserAuthority> {
      return { kind: 'user', userId: user.userId, permission, reach: assertPermitted(user, permission), credential }
    },

    /**
     * Checks again a right that was granted, against the database.
     * @returns The right as it is now.
     * @throws {DomainError} `console_session_invalid`, `permission_missing`, `storage_unavailable`.
     */
    async reauthorize(authority: UserAuthority): Promise<UserAuthority> {
      const { credential } = authority
      if (credential.kind !== 'console_session') throw new Error(`${credential.kind} is no session`)
      assertStorageReachable()
      const { reach } = assertAuthorized(authority, await find(credential.sessionId))
      return { ...authority, reach }
    },

    assertStorageReachable,
  }
}
