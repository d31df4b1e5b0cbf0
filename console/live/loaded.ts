/**
 * What a view has loaded: loaded again when the instance changes and after a failure, and kept, with its age, while the server cannot be
 * reached.
 */
import { type CallOptions, Code, ConnectError } from '@connectrpc/connect'
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { IN_BACKGROUND } from '../api/clients.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { heardAt, mayFollow, now, outage, version } from './instance.ts'

/** What is loaded. */
export interface Loaded<T> {
  readonly value: T | undefined
  /** When it was loaded, or was last known to be the same, in milliseconds of this machine's clock. */
  readonly at: number
  /** Why it could not be loaded the last time. */
  readonly failure: Failure | undefined
}

const NOTHING = { value: undefined, at: 0, failure: undefined }

interface State<T> extends Loaded<T> {
  readonly key: string
  /** The version of the instance when the load of the value began. */
  readonly version: bigint | undefined
}

const ownChanges = signal(0)

/** Loads everything that is shown again, right after a change that was made here. */
export function reload(): void {
  ownChanges.value += 1
}

/** How long after a failure that may pass it is loaded again, in milliseconds; twice that if the version says nothing of it, or nothing to this user. */
const BEAT = 5000

/**
 * Loads something.
 *
 * @param key What it is. With another key, what was loaded before is dropped.
 * @param options Whether something of it changes without a new version, such as the last use of a secret.
 */
export function useLoaded<T>(
  key: string,
  load: (options: CallOptions) => Promise<T>,
  { isPeriodic = false }: { readonly isPeriodic?: boolean } = {},
): Loaded<T> {
  const [state, setState] = useState<State<T>>()
  const shown = state?.key === key ? state : undefined
  const loader = useRef<Loader>(undefined)
  const current = version.value
  // Without a version, the next one would be the reason to load it again at once.
  const isReady = current !== undefined || outage.value !== undefined || !mayFollow()
  const changes = ownChanges.value
  const beat = Math.floor(now.value / BEAT)
  const isDue = shown?.failure?.isTransient === true || ((isPeriodic || !mayFollow()) && beat % 2 === 0)
  // The key stands for what `load` does.
  useEffect(() => {
    loader.current = createLoader(async (options) => {
      const next = await outcomeOf(load, options)
      if (!options.signal.aborted) setState((before) => ({ ...(before?.key === key ? before : NEVER), ...next, key }))
    })
    return () => loader.current?.stop()
  }, [key])
  useEffect(() => {
    if (isReady) loader.current?.request()
  }, [key, isReady, current, changes])
  useEffect(() => {
    if (shown !== undefined && isDue) loader.current?.request()
  }, [beat])
  if (shown?.failure === undefined || shown.version !== current) return shown ?? NOTHING
  return { ...shown, at: Math.max(shown.at, heardAt.value) }
}

const NEVER = { ...NOTHING, version: undefined }

/** What a load changes. A failure leaves the value, unless that has been deleted. */
async function outcomeOf<T>(load: (options: CallOptions) => Promise<T>, options: CallOptions) {
  const began = version.value
  try {
    return { value: await load(options), version: began, at: Date.now(), failure: undefined }
  } catch (error) {
    const isGone = ConnectError.from(error).code === Code.NotFound
    return { ...(isGone && { value: undefined }), failure: failureOf(error) }
  }
}

/** Of each call of a load, in milliseconds: one that hangs must not keep the next load waiting. */
const TIMEOUT = 30_000

/** Loads on request. */
interface Loader {
  request(): void
  /** Aborts the load. Its end is not reported. */
  stop(): void
}

/**
 * Loads one thing, one load at a time. What is requested during a load is one more load after it, so that a load ends however often the
 * instance changes meanwhile.
 *
 * @param load Never rejects. The first one is caused by a person, the others by the page.
 */
function createLoader(load: (options: CallOptions & { readonly signal: AbortSignal }) => Promise<void>): Loader {
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
