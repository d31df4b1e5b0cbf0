/**
 * The `IssuerKeyStore` on a database: what fetches of keys leave, one issuer at a time.
 */
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import { NO_USER } from '../../domain/identities/changed-users.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { IssuerKeyStore, IssuerKeyUpdate } from '../../domain/ports/federation.ts'
import { changeInstance } from '../change/instance-change.ts'
import type { Database } from '../postgres/database.ts'
import { readSnapshot } from '../postgres/snapshot.ts'
import { writeFetchedKeys } from './issuer-key-row.ts'
import { readTrustedIssuer } from './trusted-issuer-row.ts'

interface Decision {
  readonly issuer: TrustedIssuer | undefined
  readonly update: IssuerKeyUpdate | undefined
}

/** The fetched keys in a migrated database. */
export function createIssuerKeyStore(database: Database, macs: PublicKeyMacs): IssuerKeyStore {
  return {
    update: async (entry, issuerId, decide) => {
      const { decision } = await changeInstance<TrustedIssuer | undefined, Decision>(database, entry, {
        read: (trx) => readTrustedIssuer(trx, issuerId, macs),
        datesOf: () => [],
        changedUsers: () => NO_USER,
        decide: (before) => {
          if (before?.keys.kind !== 'fetched') return { issuer: before, update: undefined }
          const update = decide(before.keys)
          return { issuer: { ...before, keys: update.next }, update }
        },
        write: async (trx, before, { issuer, update }) => {
          if (update === undefined || issuer === undefined || update.next === before?.keys) return false
          await writeFetchedKeys(trx, issuer, macs)
          return update.isChange
        },
      })
      return decision.issuer
    },
    find: (issuerId) => readSnapshot(database.db, (trx) => readTrustedIssuer(trx, issuerId, macs)),
  }
}
