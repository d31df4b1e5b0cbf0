/**
 * The part of the contract about `InstanceInitializer`.
 */
import { describe, expect, it } from '@jest/globals'
import { createInstanceInitializer } from '../../../src/storage/instance/instance-initializer.ts'
import { createInstanceReader } from '../../../src/storage/instance/instance-reader.ts'
import type { Database } from '../../../src/storage/postgres/database.ts'
import { newInstanceContent } from '../../support/instance-content.ts'
import { TEST_MACS } from '../../support/integrity.ts'

const nothing = async () => {}

export function describeInstanceInitializer(current: () => Database): void {
  const initializer = () => createInstanceInitializer(current())
  const load = (...userIds: string[]) => createInstanceReader(current(), TEST_MACS).load({ userIds })

  describe('initialising the instance', () => {
    it('does nothing the second time, and does not call back', async () => {
      const first = newInstanceContent()
      await initializer().initialise(first, nothing)
      let called = false
      const second = await initializer().initialise(newInstanceContent(), async () => {
        called = true
      })
      expect({ second, called }).toEqual({ second: false, called: false })
      expect((await load()).ring).toHaveLength(1)
      expect((await createInstanceReader(current(), TEST_MACS).status()).version).toBe(1)
    })

    it('is done by exactly one of several that start at once', async () => {
      let callbacks = 0
      const starts = Array.from({ length: 4 }, () =>
        initializer().initialise(newInstanceContent(), async () => {
          callbacks += 1
        }),
      )
      const results = await Promise.all(starts)
      expect(results.toSorted()).toEqual([false, false, false, true])
      expect(callbacks).toBe(1)
      expect((await load()).ring).toHaveLength(1)
    })

    it('stores nothing when the callback throws, and passes its error through', async () => {
      const full = Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' })
      const content = newInstanceContent()
      const thrown = await initializer()
        .initialise(content, async () => {
          throw full
        })
        .catch((error: unknown) => error)
      expect(thrown).toBe(full)
      expect(await initializer().isInitialised()).toBe(false)
      expect(await load(content.owner.userId)).toMatchObject({ version: 0, ring: [], users: new Map() })
      expect(await initializer().initialise(content, nothing)).toBe(true)
    })
  })
}
