/**
 * A moment: short, and exact in its tooltip.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { formatDistance, formatExactly, formatMoment, millisecondsOf } from '../format/text.ts'
import { now } from '../live/clock.ts'

interface WhenProps {
  /** A number is in milliseconds. */
  readonly at: Timestamp | number | undefined
  /** What is said without a moment. */
  readonly otherwise?: string
}

/** For example `3 Nov`. */
export function When(props: WhenProps) {
  return <Moment {...props} format={formatMoment} />
}

/** For example `in 3 d`. */
export function Distance(props: WhenProps) {
  return <Moment {...props} format={formatDistance} />
}

function Moment({ at, otherwise = '–', format }: WhenProps & { readonly format: typeof formatMoment }) {
  const moment = typeof at === 'number' ? at : millisecondsOf(at)
  if (moment === undefined) return <>{otherwise}</>
  return (
    <time dateTime={new Date(moment).toISOString()} title={formatExactly(moment)}>
      {format(moment, now.value)}
    </time>
  )
}
