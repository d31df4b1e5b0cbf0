/**
 * The `FederationStore` on a database: all trusted issuers, read and changed as a whole. The federated identities of users are parts
 * of the users (`identity-store.ts`).
 */

import { changedByIssuers } from '../../domain/changes.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { ChangeEntry } from '../../domain/identities/authority.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { FederationStore, IssuersChange } from '../../domain/ports/federation.ts'
import { changeInstance } from '../change/instance-change.ts'
import { type Database, readSnapshot } from '../postgres/database.ts'
import { readTrustedIssuers, writeTrustedIssuers } from './trusted-issuer-row.ts'

/** The trusted issuers of a migrated database. */
export function createFederationStore(database: Database, macs: PublicKeyMacs): FederationStore {
  return {
    change: async <T>(
      entry: ChangeEntry,
      decide: (issuers: readonly TrustedIssuer[], date: Date) => IssuersChange<T>,
    ): Promise<T> => {
      const { decision } = await changeInstance(database, entry, {
        read: (trx) => readTrustedIssuers(trx, macs),
        decide: (before, { date }) => {
          const { next, result } = decide(before, date)
          return { next, result, changedUsers: changedByIssuers(before, next) }
        },
        write: (trx, before, { next }) => writeTrustedIssuers(trx, [before, next], macs),
      })
      return decision.result
    },
    list: () => readSnapshot(database.db, (trx) => readTrustedIssuers(trx, macs)),
  }
}
