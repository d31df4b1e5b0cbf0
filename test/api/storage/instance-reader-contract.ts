/**
 * The part of the contract about `InstanceReader`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { activeKey } from '../../../src/domain/keys/key-ring.ts'
import { DEFAULT_ROTATION_POLICY } from '../../../src/domain/keys/rotation-policy.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { keyOperations } from '../../support/key-operations.ts'
import { newKeyPair } from '../../support/keys.ts'
import { seedProject, seedSecret, seedUser } from '../../support/seed.ts'

export function describeInstanceReader(current: () => Database): void {
  const reader = () => createInstanceReader(current(), TEST_MACS)

  describe('reading the instance', () => {
    it('finds an empty instance', async () => {
      const { clock, ...state } = await reader().load()
      expect(state).toEqual({
        version: 0,
        changedAt: null,
        issuer: null,
        standby: null,
        ring: [],
        sealedActiveKey: null,
        // As it is for instances that existed before there was a policy.
        rotation: { policy: { ...DEFAULT_ROTATION_POLICY, enabled: false }, requestedAt: null },
        trustedIssuers: [],
        users: new Map(),
        federatedUsers: [],
      })
    })

    it('gives the private key of the active web key and no other', async () => {
      const keys = keyOperations(current())
      const [first, second] = [newKeyPair(), newKeyPair()]
      await keys.create(first)
      await keys.create(second)
      expect((await reader().load()).sealedActiveKey).toBeNull()
      await keys.activate(first.keyId)
      expect((await reader().load()).sealedActiveKey).toBe(first.sealedPrivateKey)
      await keys.activate(second.keyId)
      expect((await reader().load()).sealedActiveKey).toBe(second.sealedPrivateKey)
    })

    it('reads a user with all that belongs to it', async () => {
      const billing = await seedProject(current(), { name: 'billing', roles: ['reader', 'writer'], scopes: ['b', 'a'] })
      const shop = await seedProject(current(), { name: 'shop', roles: ['seller'] })
      const { userId } = await seedUser(current(), {
        project: billing,
        name: 'invoice robot',
        enabled: false,
        clientCredentialsEnabled: false,
        instanceRoles: ['IAM_OWNER_VIEWER', 'IAM_OWNER', 'IAM_AUDITOR'],
        managedProjects: { [shop.projectId]: 'PROJECT_OWNER_VIEWER' },
        projectRoles: { [billing.projectId]: ['writer', 'reader'], [shop.projectId]: ['seller'] },
        customScopes: ['b', 'a'],
      })
      const expiresAt = new Date('2024-05-06T07:08:09.123Z')
      const deactivatedAt = new Date('2024-04-01T00:00:00.001Z')
      const ended = await seedSecret(current(), userId, { expiresAt, deactivatedAt })
      const open = await seedSecret(current(), userId)

      const { version, changedAt } = await reader().status()
      expect(await reader().findServiceUser(userId)).toEqual({
        version,
        changedAt,
        user: {
          userId,
          name: 'invoice robot',
          projectId: billing.projectId,
          projectName: 'billing',
          createdAt: expect.any(Date),
          enabled: false,
          clientCredentialsEnabled: false,
          boundTokensRequired: false,
          certificateBoundTokens: false,
          secrets: [
            {
              secretId: ended.secretId,
              hash: ended.hash,
              createdAt: deactivatedAt,
              expiresAt,
              deactivatedAt,
              lastUsedAt: null,
            },
            {
              secretId: open.secretId,
              hash: open.hash,
              createdAt: expect.any(Date),
              expiresAt: null,
              deactivatedAt: null,
              lastUsedAt: null,
            },
          ],
          keys: [],
          personalAccessTokens: [],
          federatedIdentities: [],
          certificates: [],
          instanceRoles: ['IAM_AUDITOR', 'IAM_OWNER', 'IAM_OWNER_VIEWER'],
          managedProjects: new Map([[shop.projectId, 'PROJECT_OWNER_VIEWER']]),
          projectRoles: new Map([
            [billing.projectId, ['reader', 'writer']],
            [shop.projectId, ['seller']],
          ]),
          rolesClaimProjects: [],
          customScopes: ['a', 'b'],
          projectsByAudience: new Map(),
          tokensRevokedAt: null,
          revokedTokens: [],
          tokenLifetimeSeconds: null,
          tokenClaims: {},
        },
      })
    })

    it('reads the named users and leaves out unknown ids', async () => {
      const project = await seedProject(current())
      const [first, second] = [await seedUser(current(), { project }), await seedUser(current(), { project })]
      await seedUser(current(), { project })
      const userIds = [second.userId, randomUUID(), first.userId, first.userId, 'x', '{}', '']
      const { users } = await reader().load({ userIds })
      expect([...users.keys()].toSorted()).toEqual([first.userId, second.userId].toSorted())
      expect(users.get(first.userId)?.userId).toBe(first.userId)
    })

    it('reads version, ring, active key and users in one snapshot while they change', async () => {
      const keys = keyOperations(current())
      const pairs = [newKeyPair(), newKeyPair()]
      for (const pair of pairs) await keys.create(pair)
      const start = (await reader().status()).version

      const swap = async () => {
        for (let count = 0; count < 40; count += 1) await keys.activate(pairs[count % 2]!.keyId)
      }
      const look = async () => {
        for (let count = 0; count < 40; count += 1) {
          const { version, ring, sealedActiveKey } = await reader().load()
          const expected = version === start ? undefined : pairs[(version - start - 1) % 2]
          expect(activeKey(ring)?.keyId).toBe(expected?.keyId)
          expect(sealedActiveKey).toBe(expected?.sealedPrivateKey ?? null)
        }
      }
      await Promise.all([swap(), look()])
    })

    it.each([
      ['another kind of key', { kty: 'RSA', n: 'AQAB', e: 'AQAB' }],
      ['another curve', { kty: 'EC', crv: 'P-384', x: 'x', y: 'y' }],
      ['a missing member', { kty: 'EC', crv: 'P-256', x: 'x' }],
      ['no object', 'text'],
    ])('refuses a stored public key that its algorithm cannot have: %s', async (_, jwk) => {
      const { keyId } = await keyOperations(current()).create()
      await sql`update web_keys set public_jwk = ${JSON.stringify(jwk)}::jsonb`.execute(current().db)
      await expect(reader().load()).rejects.toMatchObject({
        name: 'UnreadableRow',
        kind: 'web_key',
        id: keyId,
        message: expect.stringContaining(`web key ${keyId} in the database is not valid: public_jwk`),
      })
    })

    it('passes on only the public members that it knows', async () => {
      const created = await keyOperations(current()).create()
      await sql`update web_keys set public_jwk = public_jwk || '{"note":"mine"}'`.execute(current().db)
      expect((await reader().load()).ring).toEqual([created])
    })
  })
}
