/** Sign-in links and sessions of the console, with their limits and their end. What a session may do is what its user may do. */
import { sessionResource, userResource } from '../audit-resources.ts'
import { DomainError } from '../errors.ts'
import { isOpen, type SessionOrigin } from '../identities/authority.ts'
import { after, earliest } from '../time.ts'
import { notAllowed } from './person.ts'

const LINK_LIFETIME_SECONDS = 60
export const SESSION_LIFETIME_SECONDS = 8 * 3600

/** How exactly the last use of a session is known, in seconds: so a session may end this much before it has been idle for too long. */
export const LAST_USE_SECONDS = 60

/** Of the links, and of the sessions, of a user. A further one replaces the oldest link, or the session that has been idle longest. */
const MAX = 10

export interface SignInLink {
  /** Of its code, which is stored nowhere. */
  readonly hash: Uint8Array
  readonly userId: string
  readonly origin: SessionOrigin
  readonly createdAt: Date
  readonly expiresAt: Date
}

export interface ConsoleSession {
  readonly sessionId: string
  readonly userId: string
  readonly origin: SessionOrigin
  /** Of the value of its cookie, which is stored nowhere. */
  readonly hash: Uint8Array
  /** The IP address of the browser when it signed in; empty if it was not known. */
  readonly clientAddress: string
  readonly createdAt: Date
  readonly expiresAt: Date
  /** To the minute. What the page asks by itself is no use. */
  readonly lastUsedAt: Date
}

/** A row with a wrong MAC. It signs no browser in, and nothing of it is believed but the id by which it is ended. Its date orders lists. */
export type UnreadableSession = Pick<ConsoleSession, 'sessionId' | 'createdAt'>

export type AnySession = ConsoleSession | UnreadableSession

/** What one user has at the console. */
export interface SignIns {
  readonly userId: string
  readonly isEnabled: boolean
  readonly links: readonly SignInLink[]
  readonly sessions: readonly ConsoleSession[]
}

interface OpenedNow {
  readonly next: SignIns
  readonly session: ConsoleSession
  readonly replaced: readonly ConsoleSession[]
}

export type NewSession = Pick<ConsoleSession, 'sessionId' | 'hash' | 'clientAddress' | 'origin'>

function openSignIns({ links, sessions, ...others }: SignIns, clock: Date): SignIns {
  return {
    ...others,
    links: links.filter(({ expiresAt }) => clock < expiresAt),
    sessions: sessions.filter((session) => isOpen(session, clock)),
  }
}

export function addLink(
  signIns: SignIns,
  facts: Pick<SignInLink, 'hash' | 'origin'>,
  clock: Date,
): { readonly next: SignIns; readonly link: SignInLink } {
  const open = openSignIns(signIns, clock)
  const expiresAt = endOf(facts.origin, clock, LINK_LIFETIME_SECONDS)
  const link = { ...facts, userId: open.userId, createdAt: clock, expiresAt }
  return { next: { ...open, links: [...latestOf(open.links, ({ createdAt }) => createdAt), link] }, link }
}

/** Uses up the link. @throws {DomainError} `sign_in_link_invalid` if there is no such link, any more or yet. */
export function openSession(
  signIns: SignIns,
  linkHash: Uint8Array,
  { clock, ...facts }: Omit<NewSession, 'origin'> & { readonly clock: Date },
): OpenedNow {
  const open = openSignIns(signIns, clock)
  const link = open.links.find(({ hash }) => isSame(hash, linkHash))
  if (link === undefined) throw invalidLink()
  const opened = openSessionFor(open, { ...facts, origin: link.origin, clock })
  return { ...opened, next: { ...opened.next, links: open.links.filter((other) => other !== link) } }
}

/** For a user who has been proved otherwise. @throws {DomainError} `sign_in_not_allowed`. */
export function openSessionOf(signIns: SignIns, facts: NewSession & { readonly clock: Date }): OpenedNow {
  if (!signIns.isEnabled) throw notAllowed()
  return openSessionFor(signIns, facts)
}

function openSessionFor(signIns: SignIns, { clock, ...facts }: NewSession & { readonly clock: Date }): OpenedNow {
  const open = openSignIns(signIns, clock)
  const expiresAt = endOf(facts.origin, clock, SESSION_LIFETIME_SECONDS)
  const session = { ...facts, userId: open.userId, createdAt: clock, expiresAt, lastUsedAt: clock }
  const kept = latestOf(open.sessions, ({ lastUsedAt }) => lastUsedAt)
  const replaced = open.sessions.filter((other) => !kept.includes(other))
  return { next: { ...open, sessions: [...kept, session] }, session, replaced }
}

/** Whether a session, readable or not, can be ended now. @throws {DomainError} `console_session_not_found`, also for one that has ended. */
export function assertEndable(session: AnySession | undefined, clock: Date): asserts session is AnySession {
  if (session === undefined || ('userId' in session && !isOpen(session, clock))) {
    throw new DomainError('console_session_not_found', 'there is no such session of the console')
  }
}

/** A session in the audit trail. Nothing but the id is believed of one that cannot be read. */
export function resourceOf(
  session: Pick<ConsoleSession, 'sessionId' | 'userId'> | Pick<UnreadableSession, 'sessionId'>,
): string {
  const { sessionId } = session
  return 'userId' in session ? userResource(session.userId, 'sessions', sessionId) : sessionResource(sessionId)
}

/** The same refusal for a code that never existed, was used, or has expired. */
export function invalidLink(): DomainError {
  return new DomainError(
    'sign_in_link_invalid',
    'the sign-in link is not valid: it works once, for a minute. Get another one with "keyturn console"',
  )
}

function endOf(origin: SessionOrigin, clock: Date, lifetimeSeconds: number): Date {
  const end = after(clock, lifetimeSeconds)
  return origin.kind === 'openid_provider' ? end : earliest(end, origin.expiresAt)
}

/** The latest ones, among which there is room for one more. */
function latestOf<Item>(items: readonly Item[], dateOf: (item: Item) => Date): readonly Item[] {
  return items.toSorted((a, b) => dateOf(a).getTime() - dateOf(b).getTime()).slice(1 - MAX)
}

/** Not constant-time: hashes of texts with 256 random bits are no secret. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}

/** The page. Its cookie is sent to what is below it, and to nothing else. */
export const CONSOLE_PATH = '/console/'

export const SESSION_PATH = '/console/session'

export const SIGN_IN_PATH = '/console/sign-in'
export const CALLBACK_PATH = '/console/callback'

/** What the paths of RPCs are behind, without a slash at its end. */
export const CONSOLE_API = '/console/api'

export function isConsolePath(path: string): boolean {
  return path.startsWith(CONSOLE_PATH) || path === '/console'
}
