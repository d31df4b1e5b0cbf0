import { describe, expect, it } from '@jest/globals'
import { RecordTarget } from '../../../../src/app/replica/record-target.ts'
import { DomainError } from '../../../../src/domain/errors.ts'

/** A target, and two stores that say who they are. */
function createTarget({ hasPrimary = true } = {}) {
  const state = { isStandby: true, failure: undefined as Error | undefined }
  const target = new RecordTarget({ replica: { isStandby: () => state.isStandby }, hasPrimary })
  const storeOf = (name: string) => ({
    record: async (what: string) => {
      if (state.failure !== undefined) throw state.failure
      return `${what} in ${name}`
    },
  })
  const { record } = target.around(storeOf('local'), hasPrimary ? storeOf('primary') : null)
  return { state, target, record }
}

describe('what a replica records', () => {
  it('goes to the primary while its database is a standby, and to its own database from the promotion on', async () => {
    const { state, target, record } = createTarget()
    expect(await record('a use')).toBe('a use in primary')
    state.isStandby = false
    expect(await record('a use')).toBe('a use in local')
    expect(target.isOpen()).toBe(true)
  })

  it('has no place on a standby without a primary, which is said to the caller and to the operator', async () => {
    const { state, target, record } = createTarget({ hasPrimary: false })
    await expect(record('a use')).rejects.toMatchObject({
      code: 'primary_unavailable',
      message: expect.stringContaining('its operator has not configured how'),
      forOperator: expect.stringContaining('KEYTURN_PRIMARY_DATABASE_URL'),
    })
    expect(target.isOpen()).toBe(false)
    state.isStandby = false
    expect(target.isOpen()).toBe(true)
    expect(await record('a use')).toBe('a use in local')
  })

  it('is refused with the primary as the reason if that is out of reach, and not if the own database is', async () => {
    const { state, record } = createTarget()
    state.failure = new DomainError('storage_unavailable', 'the database is not available')
    await expect(record('a use')).rejects.toMatchObject({ code: 'primary_unavailable', cause: state.failure })
    state.isStandby = false
    await expect(record('a use')).rejects.toBe(state.failure)
  })

  it('passes mistakes on', async () => {
    const { state, record } = createTarget()
    state.failure = new Error('a mistake')
    await expect(record('a use')).rejects.toBe(state.failure)
  })
})
