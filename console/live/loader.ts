/**
 * Loads one thing, one load at a time. What is requested during a load is one more load after it, so that a load ends however often the
 * instance changes meanwhile.
 */
import type { CallOptions } from '@connectrpc/connect'
import { IN_BACKGROUND } from '../api/clients.ts'

/** Of each call of a load, in milliseconds: one that hangs must not keep the next load waiting. */
const TIMEOUT = 30_000

/** Loads on request. */
export interface Loader {
  request(): void
  /** Aborts the load. Its end is not reported. */
  stop(): void
}

/** @param load Never rejects. The first one is caused by a person, the others by the page. */
export function createLoader(load: (options: CallOptions & { readonly signal: AbortSignal }) => Promise<void>): Loader {
  const abort = new AbortController()
  const { signal } = abort
  let isFirst = true
  let isRunning = false
  let isRequested = false
  const request = async () => {
    isRequested = true
    if (isRunning) return
    isRunning = true
    while (isRequested && !signal.aborted) {
      isRequested = false
      const options = { signal, timeoutMs: TIMEOUT, ...(isFirst ? {} : IN_BACKGROUND) }
      isFirst = false
      await load(options)
    }
    isRunning = false
  }
  return { request: () => void request(), stop: () => abort.abort() }
}
