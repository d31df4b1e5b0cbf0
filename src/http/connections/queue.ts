/**
 * A queue that its members can leave from anywhere in it. They are linked to one another, so that neither joining nor
 * leaving allocates or hashes anything: both happen several times for each request.
 */

/** Between the two that stand next to it; alone, it stands between itself. */
class Place {
  before: Place = this
  after: Place = this
}

/** What can stand in a queue, in one at a time. */
export class Queued extends Place {
  /** Where it stands. */
  queue: Queue<Queued> | null = null

  /** Leaves its queue, if it stands in one. */
  leave(): void {
    this.before.after = this.after
    this.after.before = this.before
    this.before = this
    this.after = this
    this.queue = null
  }
}

/** Whoever has stood in it longest comes first. */
export class Queue<T extends Queued> extends Place implements Iterable<T> {
  get first(): T | undefined {
    return this.after === this ? undefined : (this.after as T)
  }

  /** Takes one in at the end, also if it stands somewhere else or here already. */
  add(item: T): void {
    item.leave()
    item.before = this.before
    item.after = this
    this.before.after = item
    this.before = item
    item.queue = this
  }

  /** The one that comes out last may leave before the next one is asked for. */
  *[Symbol.iterator](): Iterator<T> {
    for (let next: Place = this.after; next !== this; ) {
      const item = next as T
      next = item.after
      yield item
    }
  }
}
