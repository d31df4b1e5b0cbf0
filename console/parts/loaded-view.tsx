/**
 * What has been loaded; that it is being loaded; or why it cannot be. What is older than the outage says so.
 */
import type { ComponentChildren } from 'preact'
import type { Loaded } from '../live/loaded.ts'
import { FailureNotice } from './notice.tsx'

interface LoadedViewProps<T> {
  readonly loaded: Loaded<T>
  children(value: T): ComponentChildren
}

export function LoadedView<T>({ loaded: { value, failure }, children }: LoadedViewProps<T>) {
  if (value === undefined) {
    return failure === undefined ? (
      <p class="loading" role="status">
        Loading…
      </p>
    ) : (
      <FailureNotice failure={failure} />
    )
  }
  return (
    <>
      {failure !== undefined && !failure.isOutage && <FailureNotice failure={failure} />}
      {children(value)}
    </>
  )
}
