/**
 * What has been loaded; that it is being loaded; or why it cannot be. What could not be loaded again says how old it is.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { ComponentChildren } from 'preact'
import { formatLength } from '../format/text.ts'
import { heardAt, now, outage } from '../live/instance.ts'
import { type Loaded, useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { FailureNotice } from './page.tsx'

interface LoadedViewProps<T> {
  readonly loaded: Loaded<T | undefined>
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

interface ItemViewProps<T> {
  /** Where all of them are, and what that place is called. */
  readonly place: readonly [segment: string, name: string]
  readonly id: string
  /** Whether something of it changes without a new version. */
  readonly isPeriodic?: boolean
  read(options: CallOptions): Promise<T | undefined>
  children(value: T): ComponentChildren
}

/** The page of one of many, with the way back to all. */
export function ItemView<T>({ place: [segment, name], id, isPeriodic = false, read, children }: ItemViewProps<T>) {
  const loaded = useLoaded(`${segment} ${id}`, read, { isPeriodic })
  return (
    <>
      <p class="crumbs">
        <a href={linkTo([segment])}>{name}</a>
      </p>
      <LoadedView loaded={loaded}>{children}</LoadedView>
    </>
  )
}

/** The clock of the page makes it grow. */
function ageOf(at: number): string {
  return now.value > 0 ? formatLength(Date.now() - at) : ''
}
