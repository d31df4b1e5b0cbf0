/**
 * Keys of issuers as columns and rows, in both directions: those that are given, and where others are fetched from, are part of the row of the
 * issuer; those that were fetched have a row of their own.
 */
import type { Selectable, Transaction } from 'kysely'
import type { FetchedKeys, IssuerKey, IssuerKeys, KeySource } from '../../domain/federation/issuer-keys.ts'
import type { IssuerKeyChoice } from '../../domain/federation/trusted-issuer.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { toUserJwk } from '../keys/public-jwk.ts'
import type { Tables } from '../schema/tables.ts'

type IssuerRow = Selectable<Tables['trusted_issuers']>
type IssuerKeyRow = Selectable<Tables['issuer_keys']>

const SOURCE_KINDS: readonly string[] = ['discovery', 'jwks_url', 'spiffe_bundle_url'] satisfies KeySource['kind'][]

/** The keys that an issuer was given, or where they are fetched from. @throws {Error} if the row is not valid. */
export function toKeyChoice(row: IssuerRow): IssuerKeyChoice {
  const {
    key_source: kind,
    key_url: url,
    ca_certificates: caCertificates,
    max_key_staleness: maxStalenessSeconds,
  } = row
  if (kind === 'given') return { kind, keys: toKeys(row.keys) }
  if (!isSourceKind(kind) || maxStalenessSeconds === null) throw new Error('its source of keys is not known')
  return { kind: 'fetched', source: { kind, url, caCertificates, maxStalenessSeconds } }
}

/** The columns of `toKeyChoice`. */
export function toKeyColumns(keys: IssuerKeys) {
  const source = keys.kind === 'given' ? undefined : keys.source
  return {
    keys: JSON.stringify(keys.kind === 'given' ? keys.keys : []),
    key_source: source?.kind ?? 'given',
    key_url: source?.url ?? null,
    ca_certificates: source?.caCertificates ?? null,
    max_key_staleness: source?.maxStalenessSeconds ?? null,
  }
}

/** The keys that were fetched from a source. @throws {Error} if the row is missing, or its MAC is wrong. */
export function toFetchedKeys(
  issuerId: string,
  { source, row }: { readonly source: KeySource; readonly row: IssuerKeyRow | undefined },
  macs: PublicKeyMacs,
): FetchedKeys {
  if (row === undefined) throw new Error('it has no row of fetched keys')
  const { fetch_date: fetchedAt, mac, attempt_date: attemptedAt, next_fetch_date: nextFetchAt, ...rest } = row
  const keys = fetchedAt === null ? [] : toKeys(row.keys)
  if (fetchedAt !== null) {
    if (mac === null) throw new Error('its fetched keys have no mac')
    macs.assertFetchedKeys(issuerId, { source, keys, fetchedAt }, mac)
  }
  const { lease, failure: reason, failure_date: failedAt, failures } = rest
  const failure = reason === null || failedAt === null ? null : { reason, at: failedAt }
  return { kind: 'fetched', source, keys, fetch: { fetchedAt, attemptedAt, nextFetchAt, lease, failure, failures } }
}

export async function writeFetchedKeys(
  trx: Transaction<Tables>,
  { issuerId, keys }: { readonly issuerId: string; readonly keys: IssuerKeys },
  macs: PublicKeyMacs,
): Promise<void> {
  if (keys.kind === 'given') {
    await trx.deleteFrom('issuer_keys').where('issuer_id', '=', issuerId).execute()
    return
  }
  const { source, fetch } = keys
  const { fetchedAt } = fetch
  const columns = {
    keys: JSON.stringify(keys.keys),
    fetch_date: fetchedAt,
    mac: fetchedAt === null ? null : macs.ofFetchedKeys(issuerId, { source, keys: keys.keys, fetchedAt }),
    attempt_date: fetch.attemptedAt,
    next_fetch_date: fetch.nextFetchAt,
    lease: fetch.lease,
    failure: fetch.failure?.reason ?? null,
    failure_date: fetch.failure?.at ?? null,
    failures: fetch.failures,
  }
  await trx
    .insertInto('issuer_keys')
    .values({ issuer_id: issuerId, ...columns })
    .onConflict((conflict) => conflict.column('issuer_id').doUpdateSet(columns))
    .execute()
}

function toKeys(json: unknown): readonly IssuerKey[] {
  if (!Array.isArray(json)) throw new Error('keys is no list')
  return json.map(toUserJwk)
}

function isSourceKind(kind: string): kind is KeySource['kind'] {
  return SOURCE_KINDS.includes(kind)
}
