/**
 * Signing in at the console by one-time links, and the sessions that they open. Every use is checked by `session-access.ts`.
 *
 * All of it is in the database, so a link and a session work on every replica, and end on every replica at once.
 */
import { ANONYMOUS } from '../../domain/audit.ts'
import { userResource } from '../../domain/audit-resources.ts'
import {
  type AnySession,
  addLink,
  type ConsoleSession,
  invalidLink,
  openSession,
  openSessionOf,
  resourceOf,
  type SignInLink,
  type SignIns,
} from '../../domain/console/sign-ins.ts'
import { DomainError, isOutage } from '../../domain/errors.ts'
import { type Actor, authenticated } from '../../domain/identities/authority.ts'
import type { InstanceSecrets } from '../../domain/integrity.ts'
import type { ConsoleStore, SessionCursor } from '../../domain/ports/console.ts'
import type { IdentityStore, Page } from '../../domain/ports/identities.ts'
import type { Clock } from '../../domain/time.ts'
import type { AttemptLimiter } from '../access/attempt-limiter.ts'
import { type RateLimit, TokenBuckets } from '../access/rate-limits.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Replica } from '../replica/replica.ts'

/** The action of signing in, in the audit trail. */
export const SIGN_IN = 'console/sign_in'
const SIGN_OUT = 'console/sign_out'
/** The end of a session that had to give way to a new one of its user. */
const REPLACED = 'console/replaced'

/** Of a user, in each process. Signing in is the one change that a user may make who may only read. */
const SIGN_INS: RateLimit = { burst: 60, perSecond: 1 }

const MAX_USERS = 10_000

export interface ConsoleSessionsOptions {
  readonly store: ConsoleStore
  readonly users: Pick<IdentityStore, 'findUser'>
  readonly secrets: Pick<InstanceSecrets, 'signInCodes' | 'sessionCookies'>
  readonly replica: Pick<Replica, 'guard' | 'assertPrimary' | 'keys'>
  readonly attempts: Pick<AttemptLimiter, 'assertMayTry' | 'fail'>
  readonly audit: Pick<AuditTrail, 'refuse'>
  readonly newId: () => string
  readonly digest: (text: string) => string
  readonly clock: Pick<Clock, 'monotonic'>
  /** Sessions are judged by the clock of the machine, as tokens are; what changes them, by that of the database. */
  readonly now: () => Date
}

export interface BrowserRequest {
  readonly requestId: string
  readonly clientAddress: string
}

export interface OpenedSession {
  readonly session: ConsoleSession
  readonly cookie: string
}

type SessionFacts = Parameters<typeof openSession>[2]

export type ConsoleSessions = ReturnType<typeof createConsoleSessions>

/** Every method throws {DomainError} `storage_unavailable`, and what changes something `change_outcome_unknown`. */
export function createConsoleSessions(options: ConsoleSessionsOptions) {
  const { store, users, secrets, replica, attempts, audit, newId, digest, clock, now } = options
  const rate = new TokenBuckets({ ...SIGN_INS, clock, capacity: MAX_USERS })

  /** Counts an attempt. @throws {DomainError} `console_limit_reached`. */
  const assertMaySignIn = (userId: string): void => {
    if (rate.take(userId)) return
    throw new DomainError('console_limit_reached', 'too many sign-ins of this user: try again later', {
      metadata: { retry_after_seconds: String(Math.ceil(1 / SIGN_INS.perSecond)) },
    })
  }

  const startSession = async (
    userId: string,
    request: BrowserRequest,
    decide: (signIns: SignIns, facts: SessionFacts) => ReturnType<typeof openSession>,
  ): Promise<OpenedSession> => {
    const sessionId = newId()
    const { secret: cookie, hash } = secrets.sessionCookies.generate()
    const authority = { kind: 'client', userId } as const
    const entry = { ...request, actor: userId, action: SIGN_IN, resource: resourceOf({ sessionId, userId }), authority }
    const session = await store.change(entry, (signIns, clock) => {
      const { clientAddress } = request
      const { next, session, replaced } = decide(signIns, { sessionId, hash, clientAddress, clock })
      const events = replaced.map((other) => ({ action: REPLACED, resource: resourceOf(other) }))
      return { next, result: session, replaced: events }
    })
    return { session, cookie }
  }

  const openByLink = async (code: string, request: BrowserRequest): Promise<OpenedSession> => {
    if (!secrets.signInCodes.isGenuine(code)) throw invalidLink()
    const linkHash = secrets.signInCodes.hash(code)
    replica.guard.assertCurrent()
    replica.assertPrimary()
    // Before the lock is taken: a used code must not delay changes.
    const link = await store.findLink(linkHash)
    if (link === undefined || link.expiresAt <= now()) throw invalidLink()
    const { userId, origin } = link
    try {
      const user = await users.findUser(userId)
      authenticated(origin, { user, ring: replica.keys().ring, now: now() })
    } catch (error) {
      throw isOutage(error) ? error : invalidLink()
    }
    return await startSession(userId, request, (signIns, facts) => openSession(signIns, linkHash, facts))
  }

  return {
    /**
     * A link with which the caller, and no other user, can sign in.
     * @throws {DomainError} `sign_in_by_session`: by links of its own a session could outlive itself; `console_limit_reached`.
     */
    async createLink(actor: Actor): Promise<{ readonly code: string; readonly link: SignInLink }> {
      const { userId, credential } = actor.authority
      if (credential.kind === 'console_session') {
        throw new DomainError(
          'sign_in_by_session',
          'a session of the console makes no sign-in links: use "keyturn console"',
        )
      }
      assertMaySignIn(userId)
      const { secret: code, hash } = secrets.signInCodes.generate()
      const entry = { ...actor, resource: userResource(userId, 'sign_in_links') }
      const link = await store.change(entry, (signIns, clock) => {
        const { next, link } = addLink(signIns, { hash, origin: credential }, clock)
        return { next, result: link }
      })
      return { code, link }
    },

    /**
     * Opens a session with the code of a link, which is used up by that on all replicas.
     * @throws {DomainError} `sign_in_link_invalid`, also if what the link came from has ended, which counts as a failed authentication;
     * `too_many_failures` before any work is done.
     */
    async open(code: string, request: BrowserRequest): Promise<OpenedSession> {
      const attempt = { name: digest(code), address: request.clientAddress }
      attempts.assertMayTry(attempt)
      try {
        return await openByLink(code, request)
      } catch (error) {
        if (error instanceof DomainError && error.code === 'sign_in_link_invalid') {
          attempts.fail(attempt)
          audit.refuse({ ...request, actor: ANONYMOUS, action: SIGN_IN, resource: '' }, 'SIGN_IN_LINK_INVALID')
        }
        throw error
      }
    },

    /** Opens a session of a user whom the OpenID provider has proved. @throws {DomainError} `sign_in_not_allowed`; `console_limit_reached`. */
    async openFor(userId: string, request: BrowserRequest): Promise<OpenedSession> {
      assertMaySignIn(userId)
      const origin = { kind: 'openid_provider' } as const
      return startSession(userId, request, (signIns, facts) => openSessionOf(signIns, { ...facts, origin }))
    },

    /** Ends a session of its own user. One that has ended already stays so. */
    async signOut({ sessionId, userId }: ConsoleSession, request: BrowserRequest): Promise<void> {
      replica.assertPrimary()
      const authority = { kind: 'client', userId } as const
      try {
        await store.endSession({ ...request, actor: userId, action: SIGN_OUT, authority }, sessionId)
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'console_session_not_found') throw error
      }
    },

    /** The open sessions of all users, oldest first. */
    list: (page: Page<SessionCursor>): Promise<readonly AnySession[]> => store.listSessions(page),

    /** Ends a session of any user, also one that cannot be read. @throws {DomainError} `console_session_not_found`. */
    revoke: (actor: Actor, sessionId: string): Promise<void> => store.endSession(actor, sessionId),
  }
}
