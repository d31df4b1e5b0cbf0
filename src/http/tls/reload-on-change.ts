/**
 * Reads files again when they change.
 */
import { unwatchFile, watchFile } from 'node:fs'

/** How often the files are polled, in milliseconds. File events do not work on mounted secrets. */
const POLL_INTERVAL = 1_000

/** What is read, and what becomes of it. */
interface Reload<T> {
  readonly read: () => Promise<T>
  readonly onRead: (value: T) => void
  readonly onFailure: (error: unknown) => void
}

/** Reads one after the other, so that the newest wins. @returns Stops it: nothing is called from then on. */
export function reloadOnChange<T>(files: readonly string[], { read, onRead, onFailure }: Reload<T>): () => void {
  let isStopped = false
  let reading = Promise.resolve()
  const reload = (): void => {
    reading = reading
      .then(read)
      .then((value) => {
        if (!isStopped) onRead(value)
      })
      .catch((error: unknown) => {
        if (!isStopped) onFailure(error)
      })
  }
  for (const file of files) watchFile(file, { interval: POLL_INTERVAL, persistent: false }, reload)
  return () => {
    isStopped = true
    for (const file of files) unwatchFile(file, reload)
  }
}
