/** Sign-in links and sessions of the console, with their limits and their end. What a session may do is what its user may do. */
import { DomainError } from '../errors.ts'
import { isOpen, type SessionOrigin } from '../identities/authority.ts'
import type { ServiceUser } from '../identities/service-user.ts'
import { after, earliest } from '../time.ts'
import { notAllowed } from './person.ts'

const LINK_LIFETIME_SECONDS = 60
export const SESSION_LIFETIME_SECONDS = 8 * 3600

/** How exactly the last use of a session is known, in seconds: so a session may end this much before it has been idle for too long. */
export const LAST_USE_SECONDS = 60

/**
 * Of links, and of sessions. A further one replaces the oldest link, or the session that has been idle longest, of the user or of the users of the
 * project. Users with a role over the instance count for no project, so that no other user can keep them out.
 */
const MAX_OF_USER = 10
const MAX_OF_PROJECT = 100
/** Of all users with a role over the instance, and of all others: these are refused. */
const MAX = 1000

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

/** A row with a wrong MAC. It signs no browser in, and nothing of it is believed but the id by which it is ended. */
export type UnreadableSession = Pick<ConsoleSession, 'sessionId'>

export interface Sessions {
  readonly sessions: readonly ConsoleSession[]
  /** They count for no limit, and stay until they are ended, so that an owner sees them. */
  readonly unreadable: readonly UnreadableSession[]
}

export interface SignIns extends Sessions {
  readonly links: readonly SignInLink[]
  /** Those who have a link or a session, and the one who asks for one, by their ids. */
  readonly users: ReadonlyMap<string, SignInUser>
}

/** What signing in depends on of a user. */
export type SignInUser = Pick<ServiceUser, 'enabled' | 'projectId' | 'instanceRoles'>

interface OpenedNow {
  readonly next: SignIns
  readonly session: ConsoleSession
  readonly replaced: readonly ConsoleSession[]
}

export type NewSession = Pick<ConsoleSession, 'sessionId' | 'hash' | 'clientAddress' | 'userId' | 'origin'>

function openSignIns({ links, sessions, ...others }: SignIns, clock: Date): SignIns {
  return {
    ...others,
    links: links.filter(({ expiresAt }) => clock < expiresAt),
    sessions: sessions.filter((session) => isOpen(session, clock)),
  }
}

/** @throws {DomainError} `console_limit_reached`. */
export function addLink(
  signIns: SignIns,
  facts: Pick<SignInLink, 'hash' | 'userId' | 'origin'>,
  clock: Date,
): { readonly next: SignIns; readonly link: SignInLink } {
  const open = openSignIns(signIns, clock)
  const link = { ...facts, createdAt: clock, expiresAt: endOf(facts.origin, clock, LINK_LIFETIME_SECONDS) }
  const kept = withRoom(open.links, link.userId, { users: open.users, ageOf: ({ createdAt }) => createdAt })
  if (kept === undefined) throw limitReached(`there are ${MAX} sign-in links: try again in a minute`)
  return { next: { ...open, links: [...kept, link] }, link }
}

/** Uses up the link. @throws {DomainError} `sign_in_link_invalid` if there is no such link, any more or yet; `console_limit_reached`. */
export function openSession(
  signIns: SignIns,
  linkHash: Uint8Array,
  { clock, ...facts }: Omit<NewSession, 'userId' | 'origin'> & { readonly clock: Date },
): OpenedNow {
  const open = openSignIns(signIns, clock)
  const link = open.links.find(({ hash }) => isSame(hash, linkHash))
  if (link === undefined) throw invalidLink()
  const { userId, origin } = link
  const opened = openSessionFor(open, { ...facts, userId, origin, clock })
  return { ...opened, next: { ...opened.next, links: open.links.filter((other) => other !== link) } }
}

/** For a user who has been proved otherwise. @throws {DomainError} `sign_in_not_allowed`; `console_limit_reached`. */
export function openSessionOf(signIns: SignIns, facts: NewSession & { readonly clock: Date }): OpenedNow {
  if (signIns.users.get(facts.userId)?.enabled !== true) throw notAllowed()
  return openSessionFor(signIns, facts)
}

function openSessionFor(signIns: SignIns, { clock, ...facts }: NewSession & { readonly clock: Date }): OpenedNow {
  const open = openSignIns(signIns, clock)
  const expiresAt = endOf(facts.origin, clock, SESSION_LIFETIME_SECONDS)
  const session = { ...facts, createdAt: clock, expiresAt, lastUsedAt: clock }
  const kept = withRoom(open.sessions, facts.userId, { users: open.users, ageOf: ({ lastUsedAt }) => lastUsedAt })
  if (kept === undefined) throw limitReached(`${MAX} sessions of the console are open: end one first`)
  return {
    next: { ...open, sessions: [...kept, session] },
    session,
    replaced: open.sessions.filter((other) => !kept.includes(other)),
  }
}

/** Ends a session, readable or not. @throws {DomainError} `console_session_not_found`, also for one that has ended. */
export function endSession(signIns: SignIns, sessionId: string, clock: Date): SignIns {
  const open = openSignIns(signIns, clock)
  const isOther = (session: UnreadableSession) => session.sessionId !== sessionId
  if (open.sessions.every(isOther) && open.unreadable.every(isOther)) {
    throw new DomainError('console_session_not_found', 'there is no such session of the console')
  }
  return { ...open, sessions: open.sessions.filter(isOther), unreadable: open.unreadable.filter(isOther) }
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

/** Those that stay if there is one more of a user; undefined if there is no room for it. */
function withRoom<Item extends { readonly userId: string }>(
  items: readonly Item[],
  userId: string,
  { users, ageOf }: { readonly users: SignIns['users']; readonly ageOf: (item: Item) => Date },
): readonly Item[] | undefined {
  const projectOf = (item: { readonly userId: string }): string | null => {
    const { projectId = '', instanceRoles = [] } = users.get(item.userId) ?? {}
    return instanceRoles.length > 0 ? null : projectId
  }
  const project = projectOf({ userId })
  const ofUser = withoutSurplus(items, { max: MAX_OF_USER, isOne: (item) => item.userId === userId, ageOf })
  const max = project === null ? MAX : MAX_OF_PROJECT
  const kept = withoutSurplus(ofUser, { max, isOne: (item) => projectOf(item) === project, ageOf })
  const isFull = kept.filter((item) => projectOf(item) !== null).length >= MAX
  return project !== null && isFull ? undefined : kept
}

/** Without the oldest of some, so that there is room for one more of them. */
function withoutSurplus<Item>(
  items: readonly Item[],
  options: { readonly max: number; readonly isOne: (item: Item) => boolean; readonly ageOf: (item: Item) => Date },
): readonly Item[] {
  const { max, isOne, ageOf } = options
  const some = items.filter(isOne)
  const surplus = some
    .toSorted((a, b) => ageOf(a).getTime() - ageOf(b).getTime())
    .slice(0, Math.max(0, some.length - max + 1))
  return items.filter((item) => !surplus.includes(item))
}

function limitReached(message: string): DomainError {
  return new DomainError('console_limit_reached', message)
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
