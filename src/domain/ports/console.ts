/** What signing in to the console needs. `storage/` and `openid/` implement these. */
import type { AuditEntry } from '../audit.ts'
import type { Person } from '../console/person.ts'
import type { AnySession, ConsoleSession, SignInLink, SignIns } from '../console/sign-ins.ts'
import type { ChangeEntry, ClientAuthority, UserAuthority } from '../identities/authority.ts'
import type { Page } from './identities.ts'

/** A change of a user of what is its own. */
export interface OwnEntry extends ChangeEntry {
  readonly authority: UserAuthority | ClientAuthority
}

/**
 * The sign-in links and sessions of the console in the database. Every method throws {DomainError} `storage_unavailable`, and what changes
 * something what `KeyStore.update` does.
 */
export interface ConsoleStore {
  /** Like `KeyStore.update`, for the links and sessions of the user of the authority. */
  change<T>(entry: OwnEntry, decide: (signIns: SignIns, clock: Date) => SignInsChange<T>): Promise<T>
  /** Ends a session of any user, readable or not. @throws {DomainError} `console_session_not_found`, also for one that has ended. */
  endSession(entry: Omit<ChangeEntry, 'resource'>, sessionId: string): Promise<void>
  /** Those of all users that are open, oldest first. */
  listSessions(page: Page<SessionCursor>): Promise<readonly AnySession[]>
  /** A link, expired or not. @throws {UnreadableRow} */
  findLink(hash: Uint8Array): Promise<SignInLink | undefined>
  /** A session, ended or not. @param key The hash of its cookie, or its id. @throws {UnreadableRow} */
  findSession(key: Uint8Array | string): Promise<ConsoleSession | undefined>
  /** Notes that a session is used now. Within a minute of the last use it changes nothing. It is no change of the instance. */
  recordUse(sessionId: string): Promise<void>
}

/** The last item of a page. */
export type SessionCursor = Pick<ConsoleSession, 'createdAt' | 'sessionId'>

export interface SignInsChange<T> {
  readonly next: SignIns
  readonly result: T
  /** What ended by it besides: audit events of their own. Default: nothing. */
  readonly replaced?: readonly Pick<AuditEntry, 'action' | 'resource'>[]
}

/** What binds the return from an OpenID provider to the browser that was sent there. */
export interface SignInAttempt {
  readonly state: string
  readonly nonce: string
  /** The code verifier of PKCE (RFC 7636). */
  readonly verifier: string
}

/** An OpenID provider, at which people prove who they are. Both methods throw {DomainError} `openid_provider_unavailable`. */
export interface OpenIdProvider {
  /** Where to send a browser, and what it must bring back. */
  begin(): Promise<{ readonly url: string; readonly attempt: SignInAttempt }>
  /**
   * Who came back.
   *
   * @param query Of the address to which the provider has sent the browser, with its question mark.
   * @throws {DomainError} `sign_in_failed`.
   */
  finish(query: string, attempt: SignInAttempt): Promise<Person>
}
