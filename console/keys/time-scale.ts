/**
 * Where a moment is on the horizontal axis.
 *
 * Around now, an axis is logarithmic in both directions: minutes and months are visible in the same drawing. The other axis is
 * even, so that lengths can be compared.
 */
import { formatMoment, formatRoughly } from '../format/text.ts'

/** The axes that there are. */
export const SCALES = ['now', 'even'] as const

/** A kind of axis. */
export type ScaleKind = (typeof SCALES)[number]

/** An axis. */
export interface TimeScale {
  /** From the left edge, in pixels; at an edge if the moment is beyond it. */
  x(at: number): number
  /** Whether the moment is beyond the right edge. */
  isBeyond(at: number): boolean
  readonly ticks: readonly Tick[]
}

/** A mark on an axis. */
export interface Tick {
  readonly x: number
  readonly label: string
}

/** What an axis shows, and how wide it is in pixels. */
export interface ScaleOptions {
  readonly now: number
  readonly from: number
  readonly to: number
  readonly width: number
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Up to this distance from now, an axis around now is about even. */
const EVEN = 2 * MINUTE

/** Distances from now that are marked, the more important ones first. */
const DISTANCES = [HOUR, DAY, 5 * MINUTE, 7 * DAY, 90 * DAY, 30 * DAY, 365 * DAY, 6 * HOUR, MINUTE]

/** Steps of marks on an even axis. */
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY]

/** The least distance of two marks, in pixels. */
const APART = { now: 48, even: 84 }

/** Makes an axis. */
export function timeScale(kind: ScaleKind, options: ScaleOptions): TimeScale {
  return kind === 'now' ? aroundNow(options) : even(options)
}

function aroundNow({ now, from, to, width }: ScaleOptions): TimeScale {
  const place = (at: number) => Math.sign(at - now) * Math.log1p(Math.abs(at - now) / EVEN)
  const { x, isBeyond } = scale(place, { from, to, width })
  const marks: Tick[] = []
  for (const distance of DISTANCES) {
    for (const at of [now - distance, now + distance]) {
      const tick = { x: x(at), label: `${at < now ? '−' : '+'}${formatRoughly(distance)}` }
      const isInside = at > from && at < to && Math.abs(tick.x - x(now)) >= APART.now
      if (isInside && marks.every((other) => Math.abs(other.x - tick.x) >= APART.now)) marks.push(tick)
    }
  }
  return { x, isBeyond, ticks: marks.sort((a, b) => a.x - b.x) }
}

function even({ now, from, to, width }: ScaleOptions): TimeScale {
  const { x, isBeyond } = scale((at) => at, { from, to, width })
  const step = STEPS.find((length) => (length / (to - from)) * width >= APART.even) ?? 365 * DAY
  const ticks: Tick[] = []
  const first = new Date(from)
  // Days begin at midnight where the browser is.
  const start = step >= DAY ? first.setHours(0, 0, 0, 0) : Math.floor(from / step) * step
  for (let at = start; at < to; at += step) {
    if (at > from) ticks.push({ x: x(at), label: formatMoment(at, now) })
  }
  return { x, isBeyond, ticks }
}

function scale(
  place: (at: number) => number,
  { from, to, width }: Omit<ScaleOptions, 'now'>,
): Pick<TimeScale, 'x' | 'isBeyond'> {
  const [left, right] = [place(from), place(to)]
  return {
    x: (at) => ((place(Math.min(Math.max(at, from), to)) - left) / (right - left)) * width,
    isBeyond: (at) => at > to,
  }
}
