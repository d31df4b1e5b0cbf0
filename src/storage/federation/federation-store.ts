/** The `FederationStore` on a database: trusted issuers, changed as a whole, and their rows. A row whose MAC is wrong is refused, never repaired. */
import { type Selectable, sql, type Transaction } from 'kysely'
import { changedByIssuers } from '../../domain/changes.ts'
import type { IssuerKeys, KeySource, TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import type { FederationStore } from '../../domain/ports/federation.ts'
import { changeForResult } from '../change/instance-change.ts'
import { toUserJwk } from '../keys/public-jwk.ts'
import { type Database, readSnapshot } from '../postgres/database.ts'
import { difference } from '../schema/difference.ts'
import { readRow } from '../schema/read-row.ts'
import type { Tables } from '../schema/tables.ts'

const SOURCE_KINDS: readonly string[] = ['discovery', 'jwks_url', 'spiffe_bundle_url'] satisfies KeySource['kind'][]

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
  return readRow('trusted_issuer', row.issuer_id, `trusted issuer ${row.issuer_id}`, () => {
    const { issuer_id: issuerId, issuer, algorithms, max_lifetime: maxLifetimeSeconds } = row
    if (!algorithms.every(isAssertionAlgorithm)) throw new Error('an algorithm is not known')
    const facts = { issuerId, issuer, keys: toKeys(row), algorithms, maxLifetimeSeconds }
    macs.assert('trustedIssuers', facts, row.mac)
    return { ...facts, createdAt: row.creation_date }
  })
}

function toKeys({
  key_source: kind,
  keys,
  key_url: url,
  ca_certificates: caCertificates,
  max_key_staleness: maxStalenessSeconds,
}: Selectable<Tables['trusted_issuers']>): IssuerKeys {
  if (kind === 'given') {
    if (!Array.isArray(keys)) throw new Error('keys is no list')
    return { kind, keys: keys.map(toUserJwk) }
  }
  if (!isSourceKind(kind) || maxStalenessSeconds === null) throw new Error('its source of keys is not known')
  return { kind: 'fetched', source: { kind, url, caCertificates, maxStalenessSeconds } }
}

function toRow(issuer: TrustedIssuer, macs: PublicKeyMacs) {
  const { keys } = issuer
  const source = keys.kind === 'given' ? undefined : keys.source
  return {
    issuer_id: issuer.issuerId,
    issuer: issuer.issuer,
    algorithms: [...issuer.algorithms],
    max_lifetime: issuer.maxLifetimeSeconds,
    creation_date: issuer.createdAt,
    keys: JSON.stringify(keys.kind === 'given' ? keys.keys : []),
    key_source: source?.kind ?? 'given',
    key_url: source?.url ?? null,
    ca_certificates: source?.caCertificates ?? null,
    max_key_staleness: source?.maxStalenessSeconds ?? null,
    mac: macs.of('trustedIssuers', issuer),
  }
}

function isSourceKind(kind: string): kind is KeySource['kind'] {
  return SOURCE_KINDS.includes(kind)
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
