/**
 * Records when secrets were last used. Uses are collected and written in batches, so that no token request waits for the write
 * or fails with it.
 */
import { LRUCache } from 'lru-cache'
import type { CredentialUses } from '../../domain/ports/records.ts'
import type { Log } from '../../domain/ports/runtime.ts'
import type { Clock } from '../../domain/time.ts'

const MINUTE = 60_000

/** How many unwritten uses are kept. The least recently used is evicted. */
const DEFAULT_CAPACITY = 50_000

/** What it needs. */
export interface SecretUsesOptions {
  readonly store: Pick<CredentialUses, 'recordSecretUses'>
  /** Whether there is a database to write to. */
  readonly canWrite: () => boolean
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
  readonly capacity?: number
}

export class SecretUses {
  readonly #options: SecretUsesOptions
  readonly #unwritten: LRUCache<string, Date>
  #cancelTimer: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()
  #stopped = false
  #minute = new Date(0)

  constructor(options: SecretUsesOptions) {
    this.#options = options
    this.#unwritten = new LRUCache({ max: options.capacity ?? DEFAULT_CAPACITY })
  }

  /** Records a use, to the minute. It is written within a minute, and there is at most one write a minute. */
  note(secretId: string, at: Date): void {
    const minute = this.#minuteOf(at)
    if (this.#unwritten.get(secretId) === minute) return
    this.#unwritten.set(secretId, minute)
    this.#schedule()
  }

  /** Writes the rest. Uses whose write fails are lost, with a warning; those for which there is no database to write to, without one. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    await this.#writing
    await this.#write()
  }

  /** One object for all uses of a minute, to spare the garbage collector thousands of them. */
  #minuteOf(at: Date): Date {
    const begin = Math.floor(at.getTime() / MINUTE) * MINUTE
    if (begin !== this.#minute.getTime()) this.#minute = new Date(begin)
    return this.#minute
  }

  #schedule(): void {
    if (this.#cancelTimer !== undefined || this.#stopped) return
    this.#cancelTimer = this.#options.clock.after(MINUTE, () => {
      this.#writing = this.#write().then(() => {
        this.#cancelTimer = undefined
        if (this.#unwritten.size > 0) this.#schedule()
      })
    })
  }

  async #write(): Promise<void> {
    const uses = new Map(this.#unwritten.entries())
    if (uses.size === 0 || !this.#options.canWrite()) return
    try {
      await this.#options.store.recordSecretUses(uses)
    } catch (error) {
      this.#options.log.warn({ err: error, secrets: uses.size }, 'when secrets were last used could not be written')
      return
    }
    for (const [secretId, at] of uses) {
      // Used again in a later minute: that is still to be written.
      if (this.#unwritten.get(secretId) === at) this.#unwritten.delete(secretId)
    }
  }
}
