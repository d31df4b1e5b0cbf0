/**
 * How long after an activation was acknowledged each replica signs with the new key.
 *
 * While a replica has not been seen to do so it is asked for tokens in quick succession, so the figures have the
 * time of one request in them. A replica that is killed has no delay: it begins with what the database says.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { decodeProtectedHeader } from 'jose'
import type { Replica } from './replicas.ts'

/** Asks a replica for one token, and passes it to `sawToken` if there is one. */
export type Ask = (replica: Replica) => Promise<unknown>

interface View {
  /** The number of the newest acknowledged activation that it has been seen to follow. */
  seen: number
  /** Keys that it has signed with before their activation was acknowledged. */
  readonly early: Set<string>
}

export class RotationDelay {
  readonly #views = new Map<Replica, View>()
  readonly #order = new Map<string, number>()
  readonly #acknowledgedAt: number[] = []
  readonly #ask: Ask
  readonly #watching: Promise<void>[]
  #stopped = false
  /** In milliseconds, one for each activation and replica. */
  readonly delays: number[] = []

  constructor(replicas: readonly Replica[], ask: Ask) {
    this.#ask = ask
    for (const replica of replicas) this.#views.set(replica, { seen: -1, early: new Set() })
    this.#watching = replicas.map((replica) => this.#watch(replica))
  }

  /** An activation was acknowledged now. */
  activated(keyId: string): void {
    const number = this.#acknowledgedAt.push(performance.now()) - 1
    this.#order.set(keyId, number)
    for (const view of this.#views.values()) {
      if (view.early.delete(keyId)) this.#catchUp(view, number)
    }
  }

  /** A replica has issued a token now. */
  sawToken(token: string, replica: Replica): void {
    const view = this.#views.get(replica)
    const { kid } = decodeProtectedHeader(token)
    if (view === undefined || kid === undefined) return
    const number = this.#order.get(kid)
    if (number === undefined) view.early.add(kid)
    else this.#catchUp(view, number)
  }

  /** Nothing that happened so far counts for this replica. */
  forget(replica: Replica): void {
    const view = this.#views.get(replica)
    if (view !== undefined) view.seen = this.#acknowledgedAt.length - 1
  }

  /** How many replicas have not been seen to follow the newest activation. */
  get pending(): number {
    return [...this.#views.values()].filter(({ seen }) => seen < this.#acknowledgedAt.length - 1).length
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#watching)
  }

  #catchUp(view: View, number: number): void {
    const now = performance.now()
    for (; view.seen < number; view.seen += 1) this.delays.push(now - (this.#acknowledgedAt[view.seen + 1] ?? now))
  }

  async #watch(replica: Replica): Promise<void> {
    while (!this.#stopped) {
      const waitingSince = this.#acknowledgedAt[(this.#views.get(replica)?.seen ?? 0) + 1]
      if (waitingSince === undefined || !replica.running) {
        await delay(2)
        continue
      }
      await this.#ask(replica)
      // The longer it takes, the less a few milliseconds matter.
      await delay(Math.min(25, Math.max(2, (performance.now() - waitingSince) / 10)))
    }
  }
}
