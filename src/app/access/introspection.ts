/**
 * What this replica knows about an access token now (RFC 7662): whether it issued it, and whether the token still stands for its user.
 *
 * Who may ask is decided elsewhere.
 */
import { DomainError } from '../../domain/errors.ts'
import { authenticated, type IssuedAccessToken } from '../../domain/identities/authority.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { KeyRing } from '../../domain/keys/key-ring.ts'
import type { IssuedTokenVerifier } from '../../domain/ports/verification.ts'
import type { Replica } from '../replica/replica.ts'

export interface IntrospectionOptions {
  readonly replica: Pick<Replica, 'keys' | 'confirm' | 'identities'>
  readonly verifier: IssuedTokenVerifier
  readonly now: () => Date
}

/** What is known about a token: what it says if it is active, otherwise why it is not. */
export type Examined =
  | { readonly kind: 'active'; readonly issued: IssuedAccessToken }
  | { readonly kind: 'inactive'; readonly reason: string }

export type Introspection = ReturnType<typeof createIntrospection>

export function createIntrospection({ replica, verifier, now }: IntrospectionOptions) {
  const subjectOf = async ({ subject }: IssuedAccessToken): Promise<ServiceUser | undefined> => {
    const inMemory = await replica.identities.find(subject)
    if (inMemory?.enabled !== false) return inMemory
    await replica.confirm()
    return replica.identities.find(subject)
  }

  /**
   * An access token is active that was signed by a key that is published, has neither expired nor been revoked, and is of an enabled user. Any
   * other text is not. Memory may affirm; what depends on the database is denied only as the database has it (decision 12).
   * @throws {DomainError} `storage_unavailable`.
   */
  const examine = async (token: string): Promise<Examined> => {
    try {
      const issued = await verifyWithNewestKeys(token, verifier, replica)
      const user = await subjectOf(issued)
      authenticated(issued.credential, { user, ring: replica.keys().ring, now: now() })
      return { kind: 'active', issued }
    } catch (error) {
      if (error instanceof DomainError && (error.code === 'token_invalid' || error.code === 'token_key_unknown')) {
        return { kind: 'inactive', reason: error.message }
      }
      throw error
    }
  }

  return {
    /** The token if it is active, otherwise undefined: for callers who must not learn why. @throws {DomainError} `storage_unavailable`. */
    async introspect(token: string): Promise<IssuedAccessToken | undefined> {
      const examined = await examine(token)
      return examined.kind === 'active' ? examined.issued : undefined
    },
    examine,
  }
}

/** Verifies a token. An unknown key may be a new one, so memory is refreshed once before the token is refused. */
export async function verifyWithNewestKeys<Verified>(
  token: string,
  verifier: { verify(token: string, ring: KeyRing): Promise<Verified> },
  replica: Pick<Replica, 'keys' | 'confirm'>,
): Promise<Verified> {
  try {
    return await verifier.verify(token, replica.keys().ring)
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'token_key_unknown') throw error
    await replica.confirm()
    return await verifier.verify(token, replica.keys().ring)
  }
}
