/**
 * What a view has loaded: loaded again when the instance changes, and kept, with its age, while the server cannot be reached.
 */
import type { CallOptions } from '@connectrpc/connect'
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { IN_BACKGROUND } from '../api/clients.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { now } from './clock.ts'
import { mayFollow, version } from './instance.ts'

/** What is loaded. */
export interface Loaded<T> {
  readonly value: T | undefined
  /** When it was loaded, in milliseconds of this machine's clock. */
  readonly at: number
  /** Why it could not be loaded the last time. */
  readonly failure: Failure | undefined
}

const NOTHING = { value: undefined, at: 0, failure: undefined }

const ownChanges = signal(0)

/** Loads everything that is shown again, right after a change that was made here. */
export function reload(): void {
  ownChanges.value += 1
}

/** How often that is loaded again of which the version says nothing, or nothing to this user, in milliseconds. */
const PERIOD = 10_000

interface LoadOptions {
  /** Whether something of it changes without a new version, such as the last use of a secret. */
  readonly isPeriodic?: boolean
}

/**
 * Loads something.
 *
 * @param key What it is. With another key, what was loaded before is dropped.
 */
export function useLoaded<T>(
  key: string,
  load: (options: CallOptions) => Promise<T>,
  { isPeriodic = false }: LoadOptions = {},
): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly key: string }>({ key, ...NOTHING })
  const lastKey = useRef<string>(undefined)
  const current = version.value
  const changes = ownChanges.value
  const period = isPeriodic || !mayFollow() ? Math.floor(now.value / PERIOD) : 0
  // The key stands for what `load` does.
  useEffect(() => {
    const abort = new AbortController()
    const { signal } = abort
    const isKnown = lastKey.current === key
    lastKey.current = key
    load({ signal, ...(isKnown ? IN_BACKGROUND : {}) }).then(
      (value) => {
        if (!signal.aborted) setLoaded({ key, value, at: Date.now(), failure: undefined })
      },
      (error: unknown) => {
        if (signal.aborted) return
        const failure = failureOf(error)
        setLoaded((before) => (before.key === key ? { ...before, failure } : { key, ...NOTHING, failure }))
      },
    )
    return () => abort.abort()
  }, [key, current, changes, period])
  return loaded.key === key ? loaded : NOTHING
}
