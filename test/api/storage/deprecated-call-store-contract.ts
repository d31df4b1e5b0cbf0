/**
 * The part of the contract about `DeprecatedCallStore`.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { DeprecatedCalls } from '../../../src/domain/deprecated-calls.ts'
import { createDeprecatedCallStore } from '../../../src/storage/instance/deprecated-call-store.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { TEST_MACS } from '../../support/integrity.ts'
import { seedProject, seedUser } from '../../support/seed.ts'

const minute = (number: number) => new Date(Date.UTC(2024, 0, 1, 0, number))

export function describeDeprecatedCallStore(current: () => Database): void {
  const store = () => createDeprecatedCallStore(current())
  const newUser = async (name: string) =>
    (await seedUser(current(), { project: await seedProject(current()), name })).userId
  const calls = (userId: string, method: string, facts: Partial<DeprecatedCalls> = {}): DeprecatedCalls => ({
    userId,
    method,
    count: 1,
    firstAt: minute(1),
    lastAt: minute(1),
    ...facts,
  })

  describe('calls of deprecated methods', () => {
    it('are added up by user and method, and listed with the name of the user, the latest first', async () => {
      const [one, two] = [await newUser('one'), await newUser('two')]
      await store().record([])
      await store().record([
        calls(one, 'Create', { count: 2, firstAt: minute(2), lastAt: minute(3) }),
        calls(one, 'List'),
      ])
      await store().record([
        calls(two, 'List', { lastAt: minute(9) }),
        // Written later by a replica that was slower.
        calls(one, 'Create', { count: 5, firstAt: minute(1), lastAt: minute(2) }),
      ])
      expect(await store().list()).toEqual([
        { userName: 'two', ...calls(two, 'List', { lastAt: minute(9) }) },
        { userName: 'one', ...calls(one, 'Create', { count: 7, firstAt: minute(1), lastAt: minute(3) }) },
        { userName: 'one', ...calls(one, 'List') },
      ])
    })

    it('are left out of a user who does not exist, and go with the user', async () => {
      const [leaving, staying] = [await newUser('leaving'), await newUser('staying')]
      await store().record([calls(randomUUID(), 'List'), calls(leaving, 'List'), calls(staying, 'List')])
      await sql`delete from service_users where user_id = ${leaving}`.execute(current().db)
      expect((await store().list()).map(({ userName }) => userName)).toEqual(['staying'])
    })

    it('are kept of 1000 callers, those that called last', async () => {
      const userId = await newUser('busy')
      await store().record(
        Array.from({ length: 1200 }, (_, index) => calls(userId, `Method${index}`, { lastAt: minute(index) })),
      )
      const methods = (await store().list()).map(({ method }) => method)
      expect(methods).toEqual(Array.from({ length: 1000 }, (_, index) => `Method${1199 - index}`))
      const { rows } = await sql`select 1 from deprecated_calls`.execute(current().db)
      expect(rows).toHaveLength(1000)
    })

    it('are all counted when many replicas write at once, and are no change of the instance', async () => {
      const users = await Promise.all(['a', 'b', 'c'].map(newUser))
      const version = (await createInstanceReader(current(), TEST_MACS).status()).version
      await Promise.all(
        Array.from({ length: 20 }, (_, replica) => {
          const batch = users.map((userId) => calls(userId, 'List'))
          return store().record(replica % 2 === 0 ? batch : batch.toReversed())
        }),
      )
      expect((await store().list()).map(({ count }) => count)).toEqual([20, 20, 20])
      expect((await createInstanceReader(current(), TEST_MACS).status()).version).toBe(version)
    })
  })
}
