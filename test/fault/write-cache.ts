/**
 * A disk with a volatile write cache, in memory: what was written is on the medium only after a flush, as with real disks.
 *
 * A loss of power leaves the medium, and of each block that was written since the last flush any of its versions: a disk
 * may write its cache back in any order, at any time. A block is written as a whole or not at all.
 */

/** The unit that a power cut never tears, in bytes: the sector of a disk and the block of its file system. */
export const BLOCK_BYTES = 4096

/** What the cache holds at most, in bytes, old versions included. When it is full, the disk writes all of it back. */
const CACHE_BYTES = 32 << 20

const ZEROS = Buffer.alloc(BLOCK_BYTES)

/** What a power cut leaves. */
export interface CrashImage {
  /** The blocks that are not zero, by number. */
  readonly blocks: ReadonlyMap<number, Buffer>
  /** How many blocks were in the cache. */
  readonly cached: number
  /** How many of them are not what was written last. */
  readonly lost: number
}

export class WriteCache {
  readonly #medium = new Map<number, Buffer>()
  /** The versions since the last flush, oldest first. */
  readonly #cached = new Map<number, Buffer[]>()
  #cachedBytes = 0

  read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length)
    for (const { number, from, to, at } of blocksOf(offset, length)) this.#newest(number).copy(bytes, at, from, to)
    return bytes
  }

  write(offset: number, bytes: Buffer): void {
    for (const { number, from, to, at } of blocksOf(offset, bytes.length)) {
      const block = Buffer.from(this.#newest(number))
      bytes.copy(block, from, at, at + to - from)
      const versions = this.#cached.get(number)
      if (versions === undefined) this.#cached.set(number, [block])
      else versions.push(block)
      this.#cachedBytes += BLOCK_BYTES
    }
    if (this.#cachedBytes > CACHE_BYTES) this.flush()
  }

  /** When it returns, a power cut leaves everything that was written before. */
  flush(): void {
    for (const number of this.#cached.keys()) this.#medium.set(number, this.#newest(number))
    this.#cached.clear()
    this.#cachedBytes = 0
  }

  /**
   * What a power cut leaves if it happens now. The disk goes on.
   *
   * @param random Numbers from 0 to 1 that decide what is lost. The first one is the share.
   */
  crashImage(random: () => number): CrashImage {
    const blocks = new Map(this.#medium)
    // All of it a third of the time, because that is what a system without flushes survives least.
    const share = Math.min(1, random() * 1.5)
    let lost = 0
    for (const [number, versions] of this.#cached) {
      const newest = versions.length - 1
      // From -1, which is what is on the medium.
      const survivor = random() < share ? Math.floor(random() * versions.length) - 1 : newest
      if (survivor !== newest) lost += 1
      const block = versions[survivor]
      if (block !== undefined) blocks.set(number, block)
    }
    return { blocks, cached: this.#cached.size, lost }
  }

  #newest(number: number): Buffer {
    return this.#cached.get(number)?.at(-1) ?? this.#medium.get(number) ?? ZEROS
  }
}

/** The blocks that a range touches: from where to where inside the block, and where in the range that is. */
function* blocksOf(offset: number, length: number) {
  for (let at = 0; at < length; ) {
    const from = (offset + at) % BLOCK_BYTES
    const to = Math.min(BLOCK_BYTES, from + length - at)
    yield { number: (offset + at - from) / BLOCK_BYTES, from, to, at }
    at += to - from
  }
}
