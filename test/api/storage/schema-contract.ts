/**
 * The part of the contract about the constraints of the database.
 */
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { newKeyPair } from '../../support/keys.ts'

const day = (number: number) => new Date(Date.UTC(2024, 0, number))

export function describeSchema(current: () => Database): void {
  const insertKey = async (columns: Readonly<Record<string, unknown>>) => {
    const { keyId, algorithm, publicJwk, sealedPrivateKey } = newKeyPair()
    const row = {
      key_id: keyId,
      algorithm,
      state: 'initial',
      public_jwk: JSON.stringify(publicJwk),
      sealed_private_key: sealedPrivateKey,
      creation_date: day(1),
      activation_date: null,
      deactivation_date: null,
      mac: new Uint8Array(32),
      ...columns,
    }
    const values = sql.join(Object.values(row))
    await sql`insert into web_keys (${sql.join(Object.keys(row).map((name) => sql.ref(name)))}) values (${values})`.execute(
      current().db,
    )
  }

  describe('the schema', () => {
    it('refuses a second active key [Spec §3]', async () => {
      await insertKey({ state: 'active', activation_date: day(2) })
      const second = insertKey({ state: 'active', activation_date: day(3) })
      await expect(second).rejects.toMatchObject({ code: '23505', constraint: 'web_keys_one_active' })
    })

    it.each([
      ['web_keys_known_state', { state: 'retired' }],
      ['web_keys_known_algorithm', { algorithm: 'HS256' }],
      ['web_keys_public_jwk_is_public', { public_jwk: '{"kty":"EC","d":"private"}' }],
      ['web_keys_dates_match_state', { state: 'initial', activation_date: day(2) }],
      ['web_keys_dates_match_state', { state: 'active' }],
      ['web_keys_dates_match_state', { state: 'active', activation_date: day(2), deactivation_date: day(3) }],
      ['web_keys_dates_match_state', { state: 'inactive', activation_date: day(2) }],
      ['web_keys_dates_in_order', { state: 'active', activation_date: day(0) }],
      ['web_keys_dates_in_order', { state: 'inactive', activation_date: day(3), deactivation_date: day(2) }],
    ])('refuses a web key that breaks %s: %j', async (constraint, columns) => {
      await expect(insertKey(columns)).rejects.toMatchObject({ code: '23514', constraint })
    })
  })
}
