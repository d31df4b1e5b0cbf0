/** Records when secrets were last used. Uses are collected and written in batches, so that no token request waits for the write or fails with it. */
import { LRUCache } from 'lru-cache'
import type { CredentialUses } from '../../domain/ports/records.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'
import { repeat } from '../concurrency/repeat.ts'

const MINUTE = 60_000

const MAX_UNWRITTEN = 50_000

export interface SecretUsesOptions {
  readonly store: Pick<CredentialUses, 'recordSecretUses'>
  readonly canWrite: () => boolean
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
}

export class SecretUses {
  readonly #options: SecretUsesOptions
  readonly #unwritten: LRUCache<string, number>
  readonly #stopWriting: () => Promise<void>

  constructor(options: SecretUsesOptions) {
    this.#options = options
    this.#unwritten = new LRUCache({ max: MAX_UNWRITTEN })
    this.#stopWriting = repeat(() => this.#write(), { clock: options.clock, everyMillis: MINUTE, first: 'later' })
  }

  /** Records a use, to the minute. It is written within a minute, and there is at most one write a minute. */
  note(secretId: string, at: Date): void {
    const minute = Math.floor(at.getTime() / MINUTE) * MINUTE
    if (this.#unwritten.get(secretId) !== minute) this.#unwritten.set(secretId, minute)
  }

  /** Writes the rest. Uses whose write fails are lost, with a warning; those for which there is no database to write to, without one. */
  async stop(): Promise<void> {
    await this.#stopWriting()
    await this.#write()
  }

  async #write(): Promise<void> {
    const uses = new Map([...this.#unwritten.entries()].map(([secretId, minute]) => [secretId, new Date(minute)]))
    if (uses.size === 0 || !this.#options.canWrite()) return
    try {
      await this.#options.store.recordSecretUses(uses)
    } catch (error) {
      this.#options.log.warn({ err: error, secrets: uses.size }, 'when secrets were last used could not be written')
      return
    }
    for (const [secretId, at] of uses) {
      // Used again in a later minute: that is still to be written.
      if (this.#unwritten.get(secretId) === at.getTime()) this.#unwritten.delete(secretId)
    }
  }
}
