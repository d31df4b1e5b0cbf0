/**
 * Where a replica records what is no change of the instance: uses of credentials, refusals, heartbeats, calls of deprecated methods. That
 * is its own database or, while that is a standby, its primary, if the operator has configured how to reach it.
 */
import { DomainError } from '../../domain/errors.ts'
import type { Replica } from './replica.ts'

const NOT_CONFIGURED = 'this region cannot record that something is used once only: its operator has not configured how'
const OUT_OF_REACH =
  'this region cannot reach the primary region, where it records that something is used once only: try again later'

/** What it needs. */
export interface RecordTargetOptions {
  readonly replica: Pick<Replica, 'isStandby'>
  /** Whether the stores of the primary are there. */
  readonly hasPrimary: boolean
}

export class RecordTarget {
  readonly #options: RecordTargetOptions

  constructor(options: RecordTargetOptions) {
    this.#options = options
  }

  /** Whether there is a database to record in. It may be out of reach. */
  readonly isOpen = (): boolean => this.#options.hasPrimary || !this.#options.replica.isStandby()

  /**
   * A store whose methods write to the one that can be written to at the time of the call.
   *
   * @param primary Null: there is none. Its methods throw {DomainError} `primary_unavailable` instead of `storage_unavailable`.
   */
  around<Store extends object>(local: Store, primary: Store | null): Store {
    const methods = Object.keys(local).map((name) => [name, this.#choosing(local, primary, name as keyof Store)])
    return Object.fromEntries(methods)
  }

  #choosing<Store extends object>(local: Store, primary: Store | null, name: keyof Store) {
    return async (...args: unknown[]): Promise<unknown> => {
      if (!this.#options.replica.isStandby()) return await call(local[name], args)
      if (primary === null)
        throw new DomainError('primary_unavailable', NOT_CONFIGURED, { forOperator: SETTING_MISSING })
      try {
        return await call(primary[name], args)
      } catch (cause) {
        if (!(cause instanceof DomainError) || cause.code !== 'storage_unavailable') throw cause
        throw new DomainError('primary_unavailable', OUT_OF_REACH, { cause })
      }
    }
  }
}

const SETTING_MISSING = 'the database is a standby, and KEYTURN_PRIMARY_DATABASE_URL is not set'

function call(method: unknown, args: readonly unknown[]): unknown {
  if (typeof method !== 'function') throw new Error('a store has methods only')
  return method(...args)
}
