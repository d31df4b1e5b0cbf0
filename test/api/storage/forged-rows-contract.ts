/**
 * The part of the contract about the rows of an attacker who can write to the database and has no master key.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { UserCredential } from '../../../src/domain/identities/credential.ts'
import type { SealedKeyPair } from '../../../src/domain/keys/key-ring.ts'
import { planRevocation } from '../../../src/domain/keys/revocation.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import { createKeyStore } from '../../../src/storage/keys/key-store.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'
import { seedProject, seedUser } from '../../support/seed.ts'

const MAC = 'its mac does not fit'

export function describeForgedRows(current: () => Database): void {
  const load = (...userIds: string[]) => createInstanceReader(current(), TEST_MACS).load({ userIds })
  const change = () => createKeyStore(current(), TEST_MACS).update(anEntry('look'), () => ({ steps: [], result: 0 }))

  /** Puts a key into the table of web keys, as far as its constraints let a writer. */
  const insert = async (pair: Partial<SealedKeyPair>, mac: Uint8Array) => {
    const { keyId, algorithm, publicJwk, sealedPrivateKey } = { ...newKeyPair(), ...pair }
    await sql`
      insert into web_keys (key_id, algorithm, state, public_jwk, sealed_private_key, creation_date, mac)
        values (${keyId}, ${algorithm}, 'initial', ${JSON.stringify(publicJwk)}, ${sealedPrivateKey}, now(),
          ${mac})`.execute(current().db)
    return keyId
  }
  /** What of a published key can be read in the database. */
  const macOf = async (keyId: string, table = 'web_keys') => {
    const { rows } = await sql<{ mac: Uint8Array }>`
      select mac from ${sql.table(table)} where key_id = ${keyId}`.execute(current().db)
    return new Uint8Array(rows[0]!.mac)
  }
  const refusesWebKey = async (keyId: string, reason: string) => {
    const message = `web key ${keyId} in the database is not valid: ${reason}`
    await expect(load()).rejects.toThrow(message)
    await expect(change()).rejects.toThrow(message)
  }

  describe('a row that was written without the integrity key', () => {
    it('is no web key', async () => {
      await refusesWebKey(await insert({}, new Uint8Array(32)), MAC)
    })

    it('does not turn the tombstone of a revoked key into a web key', async () => {
      const keys = keyOperations(current())
      const [leaked] = [await keys.create(), await keys.create()]
      await createKeyStore(current(), TEST_MACS).update(
        anEntry('revoke'),
        (ring, now) => planRevocation(ring, leaked.keyId, { now, jwksMaxAgeSeconds: 0, replacement: undefined })!,
      )
      await refusesWebKey(await insert(leaked, await macOf(leaked.keyId, 'revoked_web_keys')), MAC)
    })

    it('is no record of a revoked key', async () => {
      const { keyId, algorithm, publicJwk } = newKeyPair()
      await sql`
        insert into revoked_web_keys (key_id, algorithm, public_jwk, creation_date, revocation_date, mac)
          values (${keyId}, ${algorithm}, ${JSON.stringify(publicJwk)}, now(), now(), ${new Uint8Array(32)})
        `.execute(current().db)
      const store = createKeyStore(current(), TEST_MACS)
      const message = `revoked web key ${keyId} in the database is not valid: ${MAC}`
      const unreadable = {
        name: 'UnreadableRow',
        kind: 'revoked_web_key',
        id: keyId,
        message: expect.stringContaining(message),
      }
      await expect(store.listRevoked()).rejects.toMatchObject(unreadable)
      await expect(store.findRevoked(keyId)).rejects.toMatchObject(unreadable)
    })

    it.each([
      ['user_key', { publicJwk: { ...newKeyPair().publicJwk, kid: 'mine' } }, 'mine'],
      ['client_certificate', { match: 'san_dns', value: 'mine.example' }, 'mine'],
      ['client_certificate', { match: 'san_dns', value: 'mine.example' }, 'san_dns'],
    ] as const)(
      'is no %s of a service user, be it new, changed, or that of another user',
      async (kind, facts, part) => {
        const project = await seedProject(current())
        const [mine, theirs] = [await seedUser(current(), { project }), await seedUser(current(), { project })]
        const store = createIdentityStore(current(), TEST_MACS)
        const credentialId = randomUUID()
        await store.changeUser(mine.userId, anEntry('add'), (user) => {
          const credential = { kind, ...facts, credentialId, createdAt: new Date(), expiresAt: null } as UserCredential
          return { next: { ...user!, credentials: [credential] }, result: null }
        })
        const refuses = async (userId: string) => {
          const message = `service user ${userId} in the database is not valid: ${kind} ${credentialId}: ${MAC}`
          await expect(load(userId)).rejects.toThrow(message)
          await expect(store.findUser(userId)).rejects.toThrow(message)
        }
        expect((await load(mine.userId)).users.get(mine.userId)?.credentials).toHaveLength(1)
        await sql`update credentials set user_id = ${theirs.userId}`.execute(current().db)
        await refuses(theirs.userId)
        await sql`update credentials set user_id = ${mine.userId}, content = replace(content, ${part}, 'san_uri')`.execute(
          current().db,
        )
        await refuses(mine.userId)
        await sql`update credentials set content = ${JSON.stringify(facts)}`.execute(current().db)
        expect((await load(mine.userId)).users.get(mine.userId)?.credentials).toHaveLength(1)
        const other = kind === 'user_key' ? 'client_certificate' : 'user_key'
        await sql`update credentials set kind = ${other}`.execute(current().db)
        await expect(load(mine.userId)).rejects.toThrow(MAC)
        await sql`update credentials set kind = ${kind}, mac = ${new Uint8Array(32)}`.execute(current().db)
        await refuses(mine.userId)
      },
    )
  })
}
