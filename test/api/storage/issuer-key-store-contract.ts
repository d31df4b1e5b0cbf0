/**
 * The part of the contract about keys of issuers that are fetched: `IssuerKeyStore`, and their rows.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { beginFetch, endFetch, type FetchedKeys, type KeySource } from '../../../src/domain/federation/issuer-keys.ts'
import {
  addIssuer,
  editIssuer,
  removeIssuer,
  type TrustedIssuer,
} from '../../../src/domain/federation/trusted-issuer.ts'
import type { ChangeMoment } from '../../../src/domain/time.ts'
import { createFederationStore } from '../../../src/storage/federation/federation-store.ts'
import { createIssuerKeyStore } from '../../../src/storage/federation/issuer-key-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { newKeyPair } from '../../support/keys.ts'

const MAC = 'its mac does not fit'
const URL = 'https://issuer.example/jwks'
const CA = '-----BEGIN CERTIFICATE-----'

export function describeIssuerKeyStore(current: () => Database): void {
  const store = () => createIssuerKeyStore(current(), TEST_MACS)
  const issuers = () => createFederationStore(current(), TEST_MACS)
  const load = async () => (await createInstanceReader(current(), TEST_MACS).load()).trustedIssuers
  const version = async () => (await createInstanceReader(current(), TEST_MACS).status()).version

  const sourceAt = (url: string): KeySource => {
    return { kind: 'jwks_url', url, caCertificates: CA, maxStalenessSeconds: 3600 }
  }
  const change = (decide: (before: readonly TrustedIssuer[], moment: ChangeMoment) => readonly TrustedIssuer[]) =>
    issuers().change(anEntry('change'), (before, moment) => ({ next: decide(before, moment), result: null }))
  const trust = async (issuer = 'https://a.example') => {
    const issuerId = randomUUID()
    const keys = { kind: 'fetched', source: sourceAt(URL) } as const
    const facts = { issuerId, issuer, keys, algorithms: [], maxLifetimeSeconds: 0 } as const
    await change((before, moment) => addIssuer(before, facts, { moment, own: 'https://id.example' }))
    return issuerId
  }
  const newKeys = () => [{ ...newKeyPair().publicJwk, kid: 'first', alg: 'ES256' }]
  const fetched = (keys: FetchedKeys['keys']) => ({ kind: 'fetched', keys, freshSeconds: null }) as const
  /** A fetch that found these keys. */
  const fetchKeys = (issuerId: string, keys: FetchedKeys['keys']) =>
    store().update(anEntry('fetch'), issuerId, (before) => {
      const now = new Date()
      const { next, kind } = endFetch(beginFetch(before, randomUUID(), now), fetched(keys), { now, random: 0 })
      return { next, isChange: kind === 'changed' }
    })

  describe('keys that are fetched', () => {
    it('are none before the first fetch, which is due at once', async () => {
      const issuerId = await trust()
      const [issuer] = await load()
      expect(issuer).toMatchObject({ issuerId, keys: { kind: 'fetched', source: sourceAt(URL), keys: [] } })
      expect(issuer!.keys).toMatchObject({
        fetch: { fetchedAt: null, attemptedAt: null, lease: null, failure: null, failures: 0 },
      })
    })

    it('are a new version of the instance, with an audit event, only if they changed', async () => {
      const issuerId = await trust()
      const before = await version()
      const keys = newKeys()
      const stored = await fetchKeys(issuerId, keys)
      expect(stored).toMatchObject({ keys: { keys } })
      expect(await load()).toEqual([stored])
      expect(await store().find(issuerId)).toEqual(stored)
      await fetchKeys(issuerId, keys)
      expect(await version()).toBe(before + 1)
      const { rows } = await sql`select 1 from audit_events where action = 'fetch'`.execute(current().db)
      expect(rows).toHaveLength(1)
    })

    it('keep what is known of a failure, and the lease of a fetch', async () => {
      const issuerId = await trust()
      const [lease, now] = [randomUUID(), new Date()]
      await store().update(anEntry('claim'), issuerId, (keys) => ({
        next: beginFetch(keys, lease, now),
        isChange: false,
      }))
      expect((await store().find(issuerId))!.keys).toMatchObject({ fetch: { lease, attemptedAt: now } })
      const failure = { reason: 'answers with status 503', at: now }
      await store().update(anEntry('fail'), issuerId, (keys) => ({
        next: endFetch(keys, { kind: 'failed', reason: failure.reason }, { now, random: 0 }).next,
        isChange: false,
      }))
      expect((await store().find(issuerId))!.keys).toMatchObject({ fetch: { lease: null, failure, failures: 1 } })
      expect(await version()).toBe(1)
    })

    it('end with their source and with their issuer, of which nothing is decided any more', async () => {
      const issuerId = await trust()
      await fetchKeys(issuerId, newKeys())
      const edit = (keys: Parameters<typeof editIssuer>[2]['edit']['keys']) =>
        change((before, { clock }) => editIssuer(before, issuerId, { edit: { keys: keys! }, clock }))
      await edit({ kind: 'fetched', source: sourceAt('https://other.example') })
      expect((await store().find(issuerId))!.keys).toMatchObject({ keys: [], fetch: { fetchedAt: null } })
      await edit({ kind: 'given', keys: newKeys() })
      const decide = () => {
        throw new Error('nothing is to be decided')
      }
      expect(await store().update(anEntry('late'), issuerId, decide)).toMatchObject({ keys: { kind: 'given' } })
      await change((before) => removeIssuer(before, issuerId))
      expect(await store().update(anEntry('late'), issuerId, decide)).toBeUndefined()
      expect(await store().find(issuerId)).toBeUndefined()
      const { rows } = await sql`select 1 from issuer_keys`.execute(current().db)
      expect(rows).toEqual([])
    })
  })

  describe('a row of fetched keys that was written without the integrity key', () => {
    const other = { ...newKeyPair().publicJwk, kid: 'first', alg: 'ES256' }

    it.each([
      ['another key', 'issuer_keys', sql`keys = ${JSON.stringify([other])}::text::jsonb`],
      ['another kid', 'issuer_keys', sql`keys = jsonb_set(keys, '{0,kid}', '"second"')`],
      ['another alg', 'issuer_keys', sql`keys = jsonb_set(keys, '{0,alg}', '"ES384"')`],
      ['a key more', 'issuer_keys', sql`keys = keys || ${JSON.stringify([other])}::text::jsonb`],
      [
        'a later time, so that old keys are used for longer',
        'issuer_keys',
        sql`fetch_date = fetch_date + interval '1 day'`,
      ],
      ['keys that were never fetched', 'issuer_keys', sql`fetch_date = now(), mac = ${new Uint8Array(32)}`],
      ['another source', 'trusted_issuers', sql`key_source = 'discovery', key_url = null`],
      ['another URL', 'trusted_issuers', sql`key_url = 'https://evil.example'`],
      ['another authority', 'trusted_issuers', sql`ca_certificates = null`],
      ['a longer staleness', 'trusted_issuers', sql`max_key_staleness = 86400`],
      [
        'given keys in their place',
        'trusted_issuers',
        sql`key_source = 'given', key_url = null, ca_certificates = null, max_key_staleness = null,
          keys = ${JSON.stringify([other])}::text::jsonb`,
      ],
    ] as const)('is refused with %s', async (_, table, assignment) => {
      const issuerId = await trust()
      await fetchKeys(issuerId, newKeys())
      await sql`update ${sql.table(table)} set ${assignment}`.execute(current().db)
      const unreadable = { name: 'UnreadableRow', kind: 'trusted_issuer', message: expect.stringContaining(MAC) }
      await expect(load()).rejects.toMatchObject(unreadable)
      await expect(issuers().list()).rejects.toMatchObject(unreadable)
      await expect(fetchKeys(issuerId, newKeys())).rejects.toMatchObject(unreadable)
    })

    it('is refused with the keys of another issuer, and with those of the source before', async () => {
      const [issuerId, elsewhere] = [await trust(), await trust('https://b.example')]
      await fetchKeys(issuerId, newKeys())
      await fetchKeys(elsewhere, newKeys())
      const copy = (from: string, to: string) =>
        sql`
          update issuer_keys t set keys = f.keys, fetch_date = f.fetch_date, mac = f.mac
            from issuer_keys f where f.issuer_id = ${from} and t.issuer_id = ${to}`.execute(current().db)
      const [before] = await current()
        .db.selectFrom('issuer_keys')
        .selectAll()
        .where('issuer_id', '=', issuerId)
        .execute()
      await copy(elsewhere, issuerId)
      await expect(load()).rejects.toThrow(MAC)
      await copy(issuerId, elsewhere)
      const back = { ...before!, keys: JSON.stringify(before!.keys) }
      await current().db.updateTable('issuer_keys').set(back).where('issuer_id', '=', issuerId).execute()
      await expect(load()).resolves.toHaveLength(2)
      const source = sourceAt('https://other.example')
      await change((all, { clock }) =>
        editIssuer(all, issuerId, { edit: { keys: { kind: 'fetched', source } }, clock }),
      )
      await current().db.updateTable('issuer_keys').set(back).where('issuer_id', '=', issuerId).execute()
      await expect(load()).rejects.toThrow(MAC)
    })

    it('is missed when it is deleted', async () => {
      await trust()
      await sql`delete from issuer_keys`.execute(current().db)
      await expect(load()).rejects.toThrow('it has no row of fetched keys')
    })
  })
}
