/** The `FederationStore` on a database: trusted issuers, changed as a whole, and their rows. A row whose MAC is wrong is refused, never repaired. */
import type { Selectable, Transaction } from 'kysely'
import { changedByIssuers } from '../../domain/changes.ts'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { FederationStore } from '../../domain/ports/federation.ts'
import { changeForResult } from '../change/instance-change.ts'
import { type Database, readSnapshot } from '../postgres/database.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'
import { type BeforeAndNext, bytea, writeRows } from '../schema/write-rows.ts'

/** All issuers, ordered by `issuer`. @throws {UnreadableRow} if one is not valid, or its MAC is wrong. */
export async function readTrustedIssuers(
  trx: Transaction<Tables>,
  macs: PublicKeyMacs,
): Promise<readonly TrustedIssuer[]> {
  const rows = await trx.selectFrom('trusted_issuers').selectAll().execute()
  // Sorted here: the order of text in a database depends on its locale.
  return rows.map((row) => toTrustedIssuer(row, macs)).sort((a, b) => (a.issuer < b.issuer ? -1 : 1))
}

/** Writes the difference, and returns whether there is one. */
export function writeTrustedIssuers(
  trx: Transaction<Tables>,
  pairs: BeforeAndNext<TrustedIssuer>,
  macs: PublicKeyMacs,
): Promise<boolean> {
  const rows = ({ issuerId, issuer, createdAt, ...facts }: TrustedIssuer) => {
    const content = JSON.stringify(facts)
    const mac = bytea(macs.of('trustedIssuers', [issuerId, issuer, content]))
    return [{ issuer_id: issuerId, issuer, creation_date: createdAt, content, mac }]
  }
  return writeRows(trx, { table: 'trusted_issuers', key: ['issuer_id'], rows }, pairs)
}

function toTrustedIssuer(row: Selectable<Tables['trusted_issuers']>, macs: PublicKeyMacs): TrustedIssuer {
  const { issuer_id: issuerId, issuer, content } = row
  return readRow('trusted_issuer', issuerId, `trusted issuer ${issuerId}`, () => {
    macs.assert('trustedIssuers', [issuerId, issuer, content], row.mac)
    // The MAC proves that it is what was written.
    return { issuerId, issuer, ...JSON.parse(content), createdAt: row.creation_date }
  })
}

/** The trusted issuers of a migrated database. */
export function createFederationStore(database: Database, macs: PublicKeyMacs): FederationStore {
  return {
    change: (entry, decide) =>
      changeForResult(database, entry, {
        read: (trx) => readTrustedIssuers(trx, macs),
        decide: (before, { date }) => {
          const { next, result } = decide(before, date)
          return { next, result, changedUsers: changedByIssuers(before, next) }
        },
        write: (trx, before, { next }) => writeTrustedIssuers(trx, [before, next], macs),
      }),
    list: () => readSnapshot(database.db, (trx) => readTrustedIssuers(trx, macs)),
  }
}
