/**
 * The timeline: one row for each key, from its publication to its withdrawal, what has been and what is planned. A drawing for the eye;
 * the table below it has the same facts.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { formatExactly, formatLength } from '../format/text.ts'
import { type KeyLife, type Lifetimes, type Phase, phasesOf } from './key-life.ts'
import { isNeeded, nameOf, nextOf, statusOf } from './key-sentences.ts'
import { PHASES } from './legend.tsx'
import { type ScaleKind, type TimeScale, timeScale } from './time-scale.ts'

interface TimelineProps {
  readonly lives: readonly KeyLife[]
  readonly lifetimes: Lifetimes
  readonly now: number
  readonly scale: ScaleKind
}

const HEAD = 64
const ROW = 54
const FOOT = 26
const EDGE = 24
const SHORTEST = 2
const LEAST_WIDTH = 240
const BAR = { top: 28, height: 14 }

/** At least this much is shown on both sides of now, in milliseconds. */
const LEAST = 2 * 3_600_000
/** At most this much of the past. */
const MOST = 400 * 86_400_000

export function Timeline({ lives, lifetimes, now, scale: kind }: TimelineProps) {
  const [width, box] = useWidth()
  const height = HEAD + lives.length * ROW + FOOT
  const scale = timeScale(kind, { now, ...rangeOf(lives, lifetimes, now), width })
  const nowX = scale.x(now)
  return (
    <div class="timeline" ref={box}>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={summaryOf(lives, now)}
      >
        <rect class="future" x={nowX} y={HEAD} width={Math.max(0, width - nowX)} height={lives.length * ROW} />
        {scale.ticks.map(({ x, label }) => (
          <g key={label} class="tick">
            <line x1={x} x2={x} y1={HEAD} y2={height - FOOT} />
            <text x={x} y={height - 8} text-anchor={anchorAt(x, width)}>
              {label}
            </text>
          </g>
        ))}
        <Reach name="cache" length={lifetimes.keySetCache} y={22} {...{ now, scale, width }} />
        <Reach name="token" length={lifetimes.token} y={42} {...{ now, scale, width }} />
        {lives.map((life, index) => (
          <Row key={life.id} life={life} y={HEAD + index * ROW} {...{ now, scale, width }} />
        ))}
        <line class="now-line" x1={nowX} x2={nowX} y1={10} y2={height - FOOT + 4} />
        <text class="now-label" x={nowX} y={height - 8} text-anchor={anchorAt(nowX, width)}>
          now
        </text>
      </svg>
    </div>
  )
}

interface ReachProps {
  readonly name: 'cache' | 'token'
  readonly length: number
  readonly y: number
  readonly now: number
  readonly scale: TimeScale
  readonly width: number
}

const REACHES = {
  cache: { short: 'key set cached', long: 'a copy of the key set fetched now is used until then' },
  token: { short: 'token valid', long: 'a token issued now is valid until then' },
} as const

/** How far from now something reaches that begins now. */
function Reach({ name, length, y, now, scale, width }: ReachProps) {
  const [from, to] = [scale.x(now), scale.x(now + length)]
  const { short, long } = REACHES[name]
  const text = `${short} ${formatLength(length)}`
  // Beside its line on the right, or on the left of now where there is no room.
  const isLeft = to + 8 + text.length * 6.5 > width
  return (
    <g class={`reach is-${name}`}>
      <title>{long}</title>
      <line x1={from} x2={Math.max(to, from + 2)} y1={y} y2={y} />
      <line x1={Math.max(to, from + 2)} x2={Math.max(to, from + 2)} y1={y - 4} y2={y + 4} />
      <text x={isLeft ? from - 8 : Math.max(to, from + 2) + 8} y={y + 4} text-anchor={isLeft ? 'end' : 'start'}>
        {text}
      </text>
    </g>
  )
}

interface RowProps {
  readonly life: KeyLife
  readonly y: number
  readonly now: number
  readonly scale: TimeScale
  readonly width: number
}

function Row({ life, y, now, scale, width }: RowProps) {
  const { key } = life
  const isWide = width >= 560
  const next = isWide ? nextOf(life, now) : ''
  return (
    <g class={`key-row ${classOf(life)}`}>
      <line class="row-line" x1={0} x2={width} y1={y} y2={y} />
      <text class="row-text" x={0} y={y + 19}>
        <tspan class="row-name">{nameOf(life)}</tspan>
        {isWide && key !== undefined && <tspan dx={8}>{key.algorithm}</tspan>}
        <tspan class={isNeeded(life, now) ? 'row-status is-needed' : 'row-status'} dx={8}>
          {statusOf(life, now)}
        </tspan>
        {next !== '' && <tspan>{` · ${next}`}</tspan>}
      </text>
      {phasesOf(life).map((phase) => (
        <PhaseBar key={phase.kind} {...{ phase, y: y + BAR.top, now, scale, width }} />
      ))}
      {life.privateKeyGoneAt !== undefined && !scale.isBeyond(life.privateKeyGoneAt) && (
        <path class="private-key-gone" d={`M${scale.x(life.privateKeyGoneAt)} ${y + BAR.top - 3}v${BAR.height + 6}`}>
          <title>{`its private key is destroyed: ${formatExactly(life.privateKeyGoneAt)}`}</title>
        </path>
      )}
    </g>
  )
}

function classOf({ key, isDeleted }: KeyLife): string {
  if (isDeleted) return 'is-deleted'
  return key?.state === WebKeyState.ACTIVE ? 'is-active' : ''
}

interface PhaseBarProps extends Omit<RowProps, 'life'> {
  readonly phase: Phase
}

/** A phase: what has been and what is planned. */
function PhaseBar({ phase: { kind, from, to }, y, now, scale, width }: PhaseBarProps) {
  // Short phases can be seen too, also at the edge.
  const start = Math.min(scale.x(from), width - SHORTEST)
  const end = to === undefined ? width : scale.x(to)
  const length = Math.max(end - start, SHORTEST)
  const nowX = Math.min(Math.max(scale.x(now), start), start + length)
  const until = to === undefined ? 'without a planned end' : `until ${formatExactly(to)}`
  return (
    <g>
      <title>{`${PHASES[kind]}: from ${formatExactly(from)} ${until}`}</title>
      {nowX > start && <rect class={`phase is-${kind}`} x={start} y={y} width={nowX - start} height={BAR.height} />}
      {nowX < start + length && (
        <rect class={`phase is-${kind} is-planned`} x={nowX} y={y} width={start + length - nowX} height={BAR.height} />
      )}
    </g>
  )
}

/** A text at an edge stays inside. */
function anchorAt(x: number, width: number): 'start' | 'middle' | 'end' {
  if (x < EDGE) return 'start'
  return x > width - EDGE ? 'end' : 'middle'
}

/** The drawing in words, for a screen reader. */
function summaryOf(lives: readonly KeyLife[], now: number): string {
  const rows = lives.map((life) => {
    return [
      `${life.key === undefined && !life.isDeleted ? '' : 'Key '}${nameOf(life)}: ${statusOf(life, now)}`,
      nextOf(life, now),
    ]
      .filter(Boolean)
      .join(', ')
  })
  return `Timeline of the keys. ${rows.join('. ')}. The table below has the same facts.`
}

/** From the first publication to the last planned step of a key that exists, or the next rotation. */
function rangeOf(lives: readonly KeyLife[], { token }: Lifetimes, now: number): { from: number; to: number } {
  const existing = lives.filter(({ key, isDeleted }) => key !== undefined || isDeleted)
  const planned = existing.flatMap(({ signsAt, neededUntil, goneAt }) => [signsAt, neededUntil, goneAt])
  const from = Math.min(now - LEAST, ...existing.map(({ publishedAt }) => publishedAt))
  const to = Math.max(now + LEAST, now + 2 * token, ...planned.filter((at) => at !== undefined))
  const margin = (to - from) * 0.02
  return { from: Math.max(from - margin, now - MOST), to: Math.min(to + margin, now + MOST) }
}

/** The width of an element, in pixels. */
function useWidth() {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(600)
  // Before it is drawn the first time, so that it is never wider than the page.
  useLayoutEffect(() => {
    const box = element.current
    if (box === null) return
    const fit = (available: number) => setWidth(Math.max(LEAST_WIDTH, Math.floor(available)))
    fit(box.clientWidth)
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) fit(entry.contentRect.width)
    })
    observer.observe(box)
    return () => observer.disconnect()
  }, [])
  return [width, element] as const
}
