/**
 * The text that Prometheus scrapes, read and written: families of samples, as OpenTelemetry's exporter writes them.
 */

/** All samples of one metric. */
export interface MetricFamily {
  readonly name: string
  readonly type: string
  /** Its comment lines, as they came. */
  readonly head: readonly string[]
  /** Values by what stands before them: the name, and labels if there are any. */
  readonly samples: Map<string, number>
}

/** Families by name, in the order of the text. */
export type Exposition = Map<string, MetricFamily>

const TYPE_LINE = /^# TYPE (\S+) (\S+)$/
const HELP_LINE = /^# (?:HELP|UNIT) \S+/
const SAMPLE_LINE = /^([A-Za-z_:][\w:]*(?:\{.*\})?) (\S+)$/

/** Lines that are none of those that the exporter writes are left out, and so are samples before any family. */
export function parseExposition(text: string): Exposition {
  const families: Exposition = new Map()
  let comments: string[] = []
  let current: MetricFamily | undefined
  for (const line of text.split('\n')) {
    const type = TYPE_LINE.exec(line)
    const sample = SAMPLE_LINE.exec(line)
    if (type?.[1] !== undefined && type[2] !== undefined) {
      current = { name: type[1], type: type[2], head: [...comments, line], samples: new Map() }
      families.set(current.name, current)
      comments = []
    } else if (HELP_LINE.test(line)) {
      comments.push(line)
    } else if (sample?.[1] !== undefined && sample[2] !== undefined) {
      current?.samples.set(sample[1], toNumber(sample[2]))
    }
  }
  return families
}

/** The text again. */
export function formatExposition(families: Exposition): string {
  const lines = [...families.values()].flatMap(({ head, samples }) => [
    ...head,
    ...[...samples].map(([series, value]) => `${series} ${toText(value)}`),
  ])
  return `${lines.join('\n')}\n`
}

function toNumber(text: string): number {
  return Number(text.replace(/^([+-]?)Inf$/, '$1Infinity'))
}

function toText(value: number): string {
  return String(value).replace(/^(-?)Infinity$/, (_, sign: string) => `${sign || '+'}Inf`)
}
