/**
 * Trusted issuers as rows, in both directions. A row whose MAC is wrong is refused, never repaired.
 */
import { type Selectable, sql, type Transaction } from 'kysely'
import type { TrustedIssuer } from '../../domain/federation/trusted-issuer.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { isAssertionAlgorithm } from '../../domain/keys/assertion-algorithm.ts'
import { UnreadableRow } from '../../domain/unreadable-row.ts'
import { difference } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'
import { toFetchedKeys, toKeyChoice, toKeyColumns, writeFetchedKeys } from './issuer-key-row.ts'

type IssuerKeyRow = Selectable<Tables['issuer_keys']>

/** All issuers, ordered by `issuer`. @throws {UnreadableRow} if one is not valid, or its MAC is wrong. */
export async function readTrustedIssuers(
  trx: Transaction<Tables>,
  macs: PublicKeyMacs,
): Promise<readonly TrustedIssuer[]> {
  const rows = await trx.selectFrom('trusted_issuers').selectAll().execute()
  const fetched = await readIssuerKeys(trx, rows)
  // Sorted here: the order of text in a database depends on its locale.
  return rows
    .map((row) => toTrustedIssuer(row, fetched.get(row.issuer_id), macs))
    .sort((a, b) => (a.issuer < b.issuer ? -1 : 1))
}

/** One issuer. @throws {UnreadableRow} */
export async function readTrustedIssuer(
  trx: Transaction<Tables>,
  issuerId: string,
  macs: PublicKeyMacs,
): Promise<TrustedIssuer | undefined> {
  const row = await trx.selectFrom('trusted_issuers').selectAll().where('issuer_id', '=', issuerId).executeTakeFirst()
  if (row === undefined) return undefined
  return toTrustedIssuer(row, (await readIssuerKeys(trx, [row])).get(issuerId), macs)
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
    const old = before.find(({ issuerId }) => issuerId === issuer_id)
    if (old === undefined) {
      await trx.insertInto('trusted_issuers').values(toRow(issuer, macs)).execute()
    } else {
      // An update, because a deletion would take the identities of users along.
      await trx.updateTable('trusted_issuers').set(columns).where('issuer_id', '=', issuer_id).execute()
    }
    if (JSON.stringify(issuer.keys) !== JSON.stringify(old?.keys)) await writeFetchedKeys(trx, issuer, macs)
  }
  return gone.length + written.length > 0
}

async function readIssuerKeys(
  trx: Transaction<Tables>,
  issuers: readonly Selectable<Tables['trusted_issuers']>[],
): Promise<ReadonlyMap<string, IssuerKeyRow>> {
  const ids = issuers.filter(({ key_source }) => key_source !== 'given').map(({ issuer_id }) => issuer_id)
  if (ids.length === 0) return new Map()
  const rows = await trx
    .selectFrom('issuer_keys')
    .selectAll()
    .where(sql<boolean>`issuer_id = any(${ids}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.issuer_id, row]))
}

function toTrustedIssuer(
  row: Selectable<Tables['trusted_issuers']>,
  fetched: IssuerKeyRow | undefined,
  macs: PublicKeyMacs,
): TrustedIssuer {
  try {
    const { issuer_id: issuerId, issuer, algorithms, max_lifetime: maxLifetimeSeconds } = row
    if (!algorithms.every(isAssertionAlgorithm)) throw new Error('an algorithm is not known')
    const choice = toKeyChoice(row)
    const facts = { issuerId, issuer, algorithms, maxLifetimeSeconds }
    macs.assertTrustedIssuer({ ...facts, keys: choice }, row.mac)
    const keys =
      choice.kind === 'given' ? choice : toFetchedKeys(issuerId, { source: choice.source, row: fetched }, macs)
    return { ...facts, keys, createdAt: row.creation_date }
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
    algorithms: [...issuer.algorithms],
    max_lifetime: issuer.maxLifetimeSeconds,
    creation_date: issuer.createdAt,
    ...toKeyColumns(issuer.keys),
    mac: macs.ofTrustedIssuer(issuer),
  }
}
