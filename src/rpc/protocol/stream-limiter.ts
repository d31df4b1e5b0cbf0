/** Limits the open streams of one kind: for each holder, which is a user or a network, and in all. */

export class StreamLimiter {
  readonly #limits: { readonly perHolder: number; readonly total: number }
  readonly #refuse: (message: string) => Error
  readonly #open = new Map<string, number>()
  #total = 0

  /** @param refuse Makes the error for one stream too many. */
  constructor(limits: { readonly perHolder: number; readonly total: number }, refuse: (message: string) => Error) {
    this.#limits = limits
    this.#refuse = refuse
  }

  /** Counts a stream until its signal is aborted, which Connect does at the end of every call. */
  admit(holder: string, signal: AbortSignal): void {
    if (signal.aborted) return
    const { perHolder, total } = this.#limits
    const open = this.#open.get(holder) ?? 0
    if (open >= perHolder) throw this.#refuse(`there are ${perHolder} such streams of this caller already`)
    if (this.#total >= total) throw this.#refuse(`there are ${total} such streams in all already`)
    this.#count(holder, 1)
    signal.addEventListener('abort', () => this.#count(holder, -1), { once: true })
  }

  #count(holder: string, change: 1 | -1): void {
    this.#total += change
    const open = (this.#open.get(holder) ?? 0) + change
    if (open === 0) this.#open.delete(holder)
    else this.#open.set(holder, open)
  }
}
