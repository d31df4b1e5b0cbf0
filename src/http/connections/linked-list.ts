/**
 * An intrusive doubly linked list: its items carry the links. Appending and removing an item takes constant time and allocates
 * nothing; both happen several times for each request.
 */

class Link {
  previous: Link = this
  next: Link = this
}

/** An item, which is in one list at most. */
export class ListItem extends Link {
  list: LinkedList<ListItem> | null = null

  /** Removes it from its list, if it is in one. */
  unlink(): void {
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
    this.list = null
  }
}

/** Ordered by when its items were appended, oldest first. */
export class LinkedList<T extends ListItem> extends Link implements Iterable<T> {
  get first(): T | undefined {
    return this.next === this ? undefined : (this.next as T)
  }

  /** Moves an item to the end, from this list or another one. */
  append(item: T): void {
    item.unlink()
    item.previous = this.previous
    item.next = this
    this.previous.next = item
    this.previous = item
    item.list = this
  }

  /** The item that was returned last may be unlinked during the iteration. */
  *[Symbol.iterator](): Iterator<T> {
    for (let next: Link = this.next; next !== this; ) {
      const item = next as T
      next = item.next
      yield item
    }
  }
}
