/**
 * What has been loaded; that it is being loaded; or why it cannot be. What could not be loaded again says how old it is.
 */
import type { ComponentChildren } from 'preact'
import { formatLength } from '../format/moment.ts'
import { now } from '../live/clock.ts'
import { heardAt, outage } from '../live/instance.ts'
import type { Loaded } from '../live/loaded.ts'
import { FailureNotice } from './notice.tsx'

interface LoadedViewProps<T> {
  readonly loaded: Loaded<T>
  children(value: T): ComponentChildren
}

export function LoadedView<T>({ loaded: { value, at, failure }, children }: LoadedViewProps<T>) {
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
      {/* In an outage the banner says how old all is that is not older still. */}
      {failure !== undefined && (outage.value === undefined || at < heardAt.value) && (
        <FailureNotice failure={{ ...failure, message: `${failure.message}: what is shown is ${ageOf(at)} old` }} />
      )}
      {children(value)}
    </>
  )
}

/** The clock of the page makes it grow. */
function ageOf(at: number): string {
  return now.value > 0 ? formatLength(Date.now() - at) : ''
}
