/**
 * What this replica knows about an access token now (RFC 7662): whether it issued it, and whether the token still stands for its user.
 *
 * Who may ask is decided elsewhere.
 */
import { DomainError } from '../../domain/errors.ts'
import { authenticated, type IssuedAccessToken } from '../../domain/identities/authority.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { IssuedTokenVerifier } from '../../domain/ports.ts'
import type { Replica } from '../replica/replica.ts'

/** What introspection needs. */
export interface IntrospectionOptions {
  readonly replica: Pick<Replica, 'keys' | 'confirm' | 'findServiceUser'>
  readonly verifier: IssuedTokenVerifier
  readonly now: () => Date
}

export class Introspection {
  readonly #options: IntrospectionOptions

  constructor(options: IntrospectionOptions) {
    this.#options = options
  }

  /**
   * An access token that is active: signed by a key that is published, neither expired nor revoked, and of an enabled user. Undefined for
   * any other text. Memory may affirm; what depends on the database is denied only as the database has it (decision 12).
   *
   * @throws {DomainError} `storage_unavailable`.
   */
  async introspect(token: string): Promise<IssuedAccessToken | undefined> {
    const { replica, now } = this.#options
    try {
      const issued = await this.#verify(token)
      const user = await this.#subjectOf(issued)
      authenticated(issued.credential, { user, ring: replica.keys().ring, now: now() })
      return issued
    } catch (error) {
      if (error instanceof DomainError && (error.code === 'token_invalid' || error.code === 'token_key_unknown')) return
      throw error
    }
  }

  /** An unknown key may be a new one, so memory is refreshed once. */
  async #verify(token: string): Promise<IssuedAccessToken> {
    const { replica, verifier } = this.#options
    try {
      return await verifier.verify(token, replica.keys().ring)
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'token_key_unknown') throw error
      await replica.confirm()
      return await verifier.verify(token, replica.keys().ring)
    }
  }

  async #subjectOf({ subject }: IssuedAccessToken): Promise<ServiceUser | undefined> {
    const { replica } = this.#options
    const inMemory = await replica.findServiceUser(subject)
    if (inMemory?.enabled !== false) return inMemory
    await replica.confirm()
    return await replica.findServiceUser(subject)
  }
}
