/**
 * The part of the contract about `FederationStore`, and about the federated identities of users.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { IssuerKeys } from '../../../src/domain/federation/trusted-issuer.ts'
import { addIssuer, type TrustedIssuer } from '../../../src/domain/federation/trusted-issuer.ts'
import type { FederatedIdentity } from '../../../src/domain/identities/credential.ts'
import { createFederationStore } from '../../../src/storage/federation/federation-store.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { newKeyPair } from '../../support/keys.ts'
import { seedProject, seedUser } from '../../support/seed.ts'

const MAC = 'its mac does not fit'

export function describeFederationStore(current: () => Database): void {
  const store = () => createFederationStore(current(), TEST_MACS)
  const users = () => createIdentityStore(current(), TEST_MACS)
  const reader = () => createInstanceReader(current(), TEST_MACS)

  const change = (decide: (issuers: readonly TrustedIssuer[], date: Date) => readonly TrustedIssuer[]) =>
    store().change(anEntry('change'), (issuers, date) => ({ next: decide(issuers, date), result: null }))
  const given = () => ({ kind: 'given', keys: [{ ...newKeyPair().publicJwk, kid: 'first' }] }) as const
  const trust = async (issuer: string, keys: IssuerKeys = given()) => {
    const issuerId = randomUUID()
    const facts = { issuerId, issuer, keys, algorithms: ['ES256', 'EdDSA'], maxLifetimeSeconds: 600 } as const
    await change((issuers, date) => addIssuer(issuers, facts, { date, own: 'https://id.example' }))
    return issuerId
  }
  const newUser = async () => (await seedUser(current(), { project: await seedProject(current()) })).userId
  const addIdentity = async (userId: string, issuerId: string): Promise<FederatedIdentity> => {
    const claims = [{ pointer: '/repository', value: 'shop/web' }]
    const kind = 'federated_identity' as const
    const facts = { kind, issuerId, subject: 'robot', audience: null, claims, expiresAt: null }
    return users().changeUser(userId, anEntry('add'), (user, { date }) => {
      const identity = { ...facts, credentialId: randomUUID(), createdAt: date }
      return { next: { ...user!, credentials: [...user!.credentials, identity] }, result: identity }
    })
  }

  describe('the federated identities of a user', () => {
    it('are found by their subject: no user, one, and two if there are more', async () => {
      const [issuerId, elsewhere] = [await trust('https://a.example'), await trust('https://b.example')]
      const subject = { issuerId, subject: 'robot' }
      const unknown = { issuerId: elsewhere, subject: 'robot' }
      const userId = await newUser()
      await addIdentity(userId, issuerId)
      await addIdentity(userId, issuerId)
      expect(await reader().findFederatedUsers(subject)).toMatchObject({ userIds: [userId] })
      for (const other of [await newUser(), await newUser()]) await addIdentity(other, issuerId)
      expect((await reader().findFederatedUsers(subject)).userIds).toHaveLength(2)
      expect((await reader().findFederatedUsers(unknown)).userIds).toEqual([])
    })
  })

  describe('a row of federation that was written without the integrity key', () => {
    const source = {
      kind: 'jwks_url',
      url: 'https://a.example',
      caCertificates: null,
      maxStalenessSeconds: 600,
    } as const

    it.each([
      ['another address', sql`content = replace(content, 'https://a.example', 'https://evil.example')`],
      ['another lifetime', sql`content = replace(content, '600', '6000')`],
      ['another name', sql`issuer = 'https://b.example'`],
      ['another id', sql`issuer_id = ${randomUUID()}`],
    ])('is no trusted issuer with %s', async (_, assignment) => {
      await trust('https://a.example', { kind: 'fetched', source })
      await sql`update trusted_issuers set ${assignment}`.execute(current().db)
      const unreadable = { name: 'UnreadableRow', kind: 'trusted_issuer', message: expect.stringContaining(MAC) }
      await expect(reader().load()).rejects.toMatchObject(unreadable)
      await expect(store().list()).rejects.toMatchObject(unreadable)
      await expect(change((issuers) => issuers)).rejects.toMatchObject(unreadable)
    })

    it.each([
      ['another subject', sql`content = replace(content, 'robot', 'another')`],
      ['another id', sql`credential_id = ${randomUUID()}`],
    ])('is no identity of a user with %s', async (_, assignment) => {
      const [issuerId, userId] = [await trust('https://a.example'), await newUser()]
      await addIdentity(userId, issuerId)
      await sql`update credentials set ${assignment}`.execute(current().db)
      await expect(reader().load({ userIds: [userId] })).rejects.toThrow(MAC)
    })

    it('is no identity of another user, and none of another issuer', async () => {
      const [issuerId, elsewhere] = [await trust('https://a.example'), await trust('https://b.example')]
      const [mine, theirs] = [await newUser(), await newUser()]
      await addIdentity(mine, issuerId)
      await sql`update credentials set user_id = ${theirs}`.execute(current().db)
      await expect(users().findUser(theirs)).rejects.toThrow(MAC)
      await sql`update credentials set user_id = ${mine}, content = replace(content, ${issuerId}, ${elsewhere})`.execute(
        current().db,
      )
      await expect(users().findUser(mine)).rejects.toThrow(MAC)
    })
  })
}
