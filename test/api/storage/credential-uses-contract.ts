/**
 * The part of the contract about `CredentialUses`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { credentialsOf } from '../../../src/domain/identities/credential.ts'
import type { ServiceUser } from '../../../src/domain/identities/service-user.ts'
import { createCredentialUses } from '../../../src/storage/identities/credential-uses.ts'
import { createIdentityStore } from '../../../src/storage/identities/identity-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { anEntry } from '../../support/audit-entry.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { seedProject, seedSecret, seedUser } from '../../support/seed.ts'

const minute = (number: number) => new Date(Date.UTC(2024, 0, 1, 0, number))
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000)

const secretsOf = (user: ServiceUser | undefined) => (user === undefined ? [] : credentialsOf(user, 'client_secret'))

export function describeCredentialUses(current: () => Database): void {
  const uses = () => createCredentialUses(current())

  describe('recording the last uses of secrets', () => {
    it('moves dates forward only, leaves unknown ids out, and is no change of the instance', async () => {
      const { userId } = await seedUser(current(), { project: await seedProject(current()) })
      const first = await seedSecret(current(), userId)
      const second = await seedSecret(current(), userId)
      const version = (await createInstanceReader(current(), TEST_MACS).status()).version
      const lastUses = async () => {
        const { user } = await createInstanceReader(current(), TEST_MACS).findServiceUser(userId)
        return new Map(secretsOf(user).map(({ credentialId, lastUsedAt }) => [credentialId, lastUsedAt]))
      }
      expect(await lastUses()).toEqual(new Map([first, second].map(({ secretId }) => [secretId, null])))

      await uses().recordSecretUses(new Map())
      await uses().recordSecretUses(
        new Map([
          [first.secretId, minute(5)],
          [randomUUID(), minute(5)],
          ['no id', minute(5)],
        ]),
      )
      await uses().recordSecretUses(
        new Map([
          [first.secretId, minute(4)],
          [second.secretId, minute(6)],
        ]),
      )
      expect(await lastUses()).toEqual(
        new Map([
          [first.secretId, minute(5)],
          [second.secretId, minute(6)],
        ]),
      )
      expect((await createInstanceReader(current(), TEST_MACS).status()).version).toBe(version)

      // The change of a secret leaves a last use that was recorded after it was read.
      await createIdentityStore(current(), TEST_MACS).changeUser(userId, anEntry('deactivate'), (user, { date }) => {
        const credentials = user!.credentials.map((each) => ({ ...each, deactivatedAt: date, lastUsedAt: null }))
        return { next: { ...user!, credentials }, result: null }
      })
      expect((await lastUses()).get(second.secretId)).toEqual(minute(6))
    })

    it('works for many replicas and many secrets at once', async () => {
      const { userId } = await seedUser(current(), { project: await seedProject(current()) })
      const secretIds: string[] = []
      for (let count = 0; count < 30; count += 1) secretIds.push((await seedSecret(current(), userId)).secretId)
      await Promise.all(
        Array.from({ length: 10 }, (_, replica) => {
          const order = replica % 2 === 0 ? secretIds : secretIds.toReversed()
          return uses().recordSecretUses(new Map(order.map((secretId) => [secretId, minute(replica)])))
        }),
      )
      const user = await createIdentityStore(current(), TEST_MACS).findUser(userId)
      expect(new Set(secretsOf(user).map(({ lastUsedAt }) => lastUsedAt?.getTime()))).toEqual(
        new Set([minute(9).getTime()]),
      )
    })
  })

  describe('using an assertion', () => {
    it('works for exactly one of many who try at once in each of two replicas, whatever else is used with it', async () => {
      const replicas = [uses(), uses()]
      for (let round = 0; round < 5; round += 1) {
        const ids = Array.from({ length: 150 }, (_, index) => `round ${round}, ${index % 50}`)
        const attempts = replicas.flatMap((replica, number) =>
          (number === 0 ? ids : ids.toReversed()).map(async (id) => {
            return { id, isFirst: await replica.useAssertionOnce(id, inSeconds(60)) }
          }),
        )
        const first = (await Promise.all(attempts)).filter(({ isFirst }) => isFirst).map(({ id }) => id)
        expect(first.toSorted()).toEqual([...new Set(ids)].toSorted())
      }
    })

    it('works again, once, long after the assertion has expired, but not right after', async () => {
      const { db } = current()
      await db
        .insertInto('used_assertions')
        .values({ id: 'old', expiration_date: inSeconds(-3600) })
        .execute()
      await db
        .insertInto('used_assertions')
        .values({ id: 'just', expiration_date: inSeconds(-30) })
        .execute()
      const attempts = Array.from({ length: 12 }, () => uses().useAssertionOnce('old', inSeconds(60)))
      expect((await Promise.all(attempts)).filter((first) => first)).toHaveLength(1)
      expect(await uses().useAssertionOnce('just', inSeconds(60))).toBe(false)
    })
  })
}
