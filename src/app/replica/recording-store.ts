/**
 * Where a replica records what is no change of the instance: uses of credentials, refusals, heartbeats. That is its own database or, while that
 * is a standby, its primary, if the operator has configured how to reach it.
 */
import { DomainError } from '../../domain/errors.ts'

const NOT_CONFIGURED = 'this region cannot record that something is used once only: its operator has not configured how'
const OUT_OF_REACH =
  'this region cannot reach the primary region, where it records that something is used once only: try again later'
const SETTING_MISSING = 'the database is a standby, and KEYTURN_PRIMARY_DATABASE_URL is not set'

/**
 * A store whose methods write to the one that can be written to at the time of the call.
 * @param local Has methods only.
 * @param primary Null: there is none. Its methods throw {DomainError} `primary_unavailable` instead of `storage_unavailable`.
 */
export function recordingStore<Store extends object>(
  local: Store,
  primary: Store | null,
  isStandby: () => boolean,
): Store {
  const methods = Object.entries(local).map(([name, write]) => [
    name,
    async (...args: readonly unknown[]): Promise<unknown> => {
      if (!isStandby()) return await write(...args)
      if (primary === null)
        throw new DomainError('primary_unavailable', NOT_CONFIGURED, { forOperator: SETTING_MISSING })
      try {
        return await Object.getOwnPropertyDescriptor(primary, name)?.value(...args)
      } catch (cause) {
        if (!(cause instanceof DomainError) || cause.code !== 'storage_unavailable') throw cause
        throw new DomainError('primary_unavailable', OUT_OF_REACH, { cause })
      }
    },
  ])
  return Object.fromEntries(methods)
}
