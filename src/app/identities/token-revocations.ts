/**
 * The revocation of single access tokens by the clients that they were issued to (RFC 7009). Revoking all tokens of a user is a use case
 * of `service-users.ts`.
 */

import { userResource } from '../../domain/audit-resources.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IssuedAccessToken } from '../../domain/identities/authority.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import { revokeToken } from '../../domain/identities/token-revocation.ts'
import type { IdentityStore } from '../../domain/ports/identities.ts'
import type { Replica } from '../replica/replica.ts'

export interface TokenRevocationsOptions {
  readonly store: Pick<IdentityStore, 'changeUser'>
  readonly replica: Pick<Replica, 'assertPrimary' | 'inForce'>
}

export interface RevocationRequest {
  readonly requestId: string
  readonly clientAddress: string
  /** Whether the user is enabled and the credential that the client has proved is live, with the user as it is stored. */
  readonly isProved: (user: ServiceUser, now: Date) => boolean
}

export type TokenRevocations = ReturnType<typeof createTokenRevocations>

export function createTokenRevocations({ store, replica }: TokenRevocationsOptions) {
  return {
    /**
     * Revokes a token in the name of its user, which needs no permission. It is idempotent.
     * @throws {DomainError} `token_invalid` if the credential of the client is not live any more; `revoked_token_limit_reached`,
     * `primary_region`, `storage_unavailable`, `change_outcome_unknown`, `change_not_in_force`.
     */
    async revoke(
      { subject: userId, credential: { tokenId, expiresAt } }: IssuedAccessToken,
      { requestId, clientAddress, isProved }: RevocationRequest,
    ): Promise<void> {
      replica.assertPrimary()
      const resource = userResource(userId, 'access_tokens', tokenId)
      const authority = { kind: 'client', userId } as const
      const entry = { actor: userId, action: 'oauth/revoke', resource, requestId, clientAddress, authority }
      const change = store.changeUser(userId, entry, (user, { clock }) => {
        if (user === undefined || !isProved(user, clock)) {
          throw new DomainError('token_invalid', 'the credential of the client is not live any more')
        }
        return { next: revokeToken(user, { tokenId, expiresAt }, clock), result: undefined }
      })
      await replica.inForce(change)
    },
  }
}
