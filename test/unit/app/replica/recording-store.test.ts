import { describe, expect, it } from '@jest/globals'
import { recordingStore } from '../../../../src/app/replica/recording-store.ts'
import { DomainError } from '../../../../src/domain/errors.ts'

/** Two stores that say who they are. */
function createStore({ hasPrimary = true } = {}) {
  const state = { isStandby: true, failure: undefined as Error | undefined }
  const storeOf = (name: string) => ({
    record: async (what: string) => {
      if (state.failure !== undefined) throw state.failure
      return `${what} in ${name}`
    },
  })
  const primary = hasPrimary ? storeOf('primary') : null
  return { state, record: recordingStore(storeOf('local'), primary, () => state.isStandby).record }
}

describe('what a replica records', () => {
  it('goes to the primary while its database is a standby, and to its own database from the promotion on', async () => {
    const { state, record } = createStore()
    expect(await record('a use')).toBe('a use in primary')
    state.isStandby = false
    expect(await record('a use')).toBe('a use in local')
  })

  it('has no place on a standby without a primary, which is said to the caller and to the operator', async () => {
    const { state, record } = createStore({ hasPrimary: false })
    await expect(record('a use')).rejects.toMatchObject({
      code: 'primary_unavailable',
      message: expect.stringContaining('its operator has not configured how'),
      forOperator: expect.stringContaining('KEYTURN_PRIMARY_DATABASE_URL'),
    })
    state.isStandby = false
    expect(await record('a use')).toBe('a use in local')
  })

  it('is refused with the primary as the reason if that is out of reach, and not if the own database is', async () => {
    const { state, record } = createStore()
    state.failure = new DomainError('storage_unavailable', 'the database is not available')
    await expect(record('a use')).rejects.toMatchObject({ code: 'primary_unavailable', cause: state.failure })
    state.isStandby = false
    await expect(record('a use')).rejects.toBe(state.failure)
  })

  it('passes mistakes on', async () => {
    const { state, record } = createStore()
    state.failure = new Error('a mistake')
    await expect(record('a use')).rejects.toBe(state.failure)
  })
})
