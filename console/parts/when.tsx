/**
 * A moment: short, and exact in its tooltip.
 */
import { formatDistance, formatExactly, formatMoment } from '../format/moment.ts'
import { now } from '../live/clock.ts'

interface WhenProps {
  /** In milliseconds. */
  readonly at: number | undefined
  /** What is said without a moment. */
  readonly otherwise?: string
}

/** For example `3 Nov`. */
export function When({ at, otherwise = '–' }: WhenProps) {
  if (at === undefined) return <>{otherwise}</>
  return (
    <time dateTime={new Date(at).toISOString()} title={formatExactly(at)}>
      {formatMoment(at, now.value)}
    </time>
  )
}

/** For example `in 3 d`. */
export function Distance({ at, otherwise = '–' }: WhenProps) {
  if (at === undefined) return <>{otherwise}</>
  return (
    <time dateTime={new Date(at).toISOString()} title={formatExactly(at)}>
      {formatDistance(at, now.value)}
    </time>
  )
}
