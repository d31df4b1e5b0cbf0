/**
 * Trusted issuers as rows, in both directions. A row whose MAC is wrong is refused, never repaired.
 */
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import { UnreadableRow } from '../../domain/unreadable-row.ts'
import { toUserJwk } from '../identities/credential-row.ts'
import { difference } from '../identities/difference.ts'
import type { Tables } from '../schema/tables.ts'

/** All issuers, ordered by `issuer`. @throws {UnreadableRow} if one is not valid, or its MAC is wrong. */
export async function readTrustedIssuers(db: Kysely<Tables>, macs: PublicKeyMacs): Promise<readonly TrustedIssuer[]> {
  const rows = await db.selectFrom('trusted_issuers').selectAll().execute()
  // Sorted here: the order of text in a database depends on its locale.
  return rows.map((row) => toTrustedIssuer(row, macs)).sort((a, b) => (a.issuer < b.issuer ? -1 : 1))
}

/** Writes the difference, and returns whether there is one. */
export async function writeTrustedIssuers(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: readonly TrustedIssuer[], next: readonly TrustedIssuer[]],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const gone = difference(before, next, ({ issuerId }) => issuerId).removed
  const written = difference(before, next, (issuer) => JSON.stringify(issuer)).added
  if (gone.length > 0) {
    const ids = gone.map(({ issuerId }) => issuerId)
    await trx.deleteFrom('trusted_issuers').where(sql<boolean>`issuer_id = any(${ids}::uuid[])`).execute()
  }
  for (const issuer of written) {
    const { issuer_id, issuer: _issuer, creation_date: _date, ...columns } = toRow(issuer, macs)
    if (before.some(({ issuerId }) => issuerId === issuer_id)) {
      // An update, because a deletion would take the identities of users along.
      await trx.updateTable('trusted_issuers').set(columns).where('issuer_id', '=', issuer_id).execute()
    } else {
      await trx.insertInto('trusted_issuers').values(toRow(issuer, macs)).execute()
    }
  }
  return gone.length + written.length > 0
}

function toTrustedIssuer(row: Selectable<Tables['trusted_issuers']>, macs: PublicKeyMacs): TrustedIssuer {
  try {
    const { issuer_id: issuerId, issuer, keys, algorithms, max_lifetime: maxLifetimeSeconds } = row
    if (!Array.isArray(keys)) throw new Error('keys is no list')
    if (!algorithms.every(isAssertionAlgorithm)) throw new Error('an algorithm is not known')
    const facts = { issuerId, issuer, keys: keys.map(toUserJwk), algorithms, maxLifetimeSeconds }
    macs.assertTrustedIssuer(facts, row.mac)
    return { ...facts, createdAt: row.creation_date }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const which = { kind: 'trusted_issuer', id: row.issuer_id } as const
    throw new UnreadableRow(which, `trusted issuer ${row.issuer_id} in the database is not valid: ${reason}`, error)
  }
}

function toRow(issuer: TrustedIssuer, macs: PublicKeyMacs) {
  return {
    issuer_id: issuer.issuerId,
    issuer: issuer.issuer,
    keys: JSON.stringify(issuer.keys),
    algorithms: [...issuer.algorithms],
    max_lifetime: issuer.maxLifetimeSeconds,
    creation_date: issuer.createdAt,
    mac: macs.ofTrustedIssuer(issuer),
  }
}
