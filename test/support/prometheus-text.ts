/**
 * Reads the text format of Prometheus, from its specification
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */

/** One line with a value. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What is said about a metric. */
export interface Family {
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/y

/** The metrics by name. @throws {Error} if a line is not in the format. */
export function parsePrometheusText(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const types = new Map<string, string>()
  const helps = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (name !== undefined && rest !== undefined) {
      const known = kind === 'TYPE' ? types : helps
      if (known.has(name)) throw new Error(`${kind} of ${name} is said twice`)
      known.set(name, rest)
    } else if (!line.startsWith('#')) samples.push(parseSample(line))
  }
  return new Map(
    [...types].map(([name, type]) => [
      name,
      {
        type,
        help: helps.get(name) ?? '',
        samples: samples.filter((sample) => familyNames(sample.name).includes(name)),
      },
    ]),
  )
}

function parseSample(line: string): Sample {
  const [, name, inner = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined || Number.isNaN(Number(value?.replace('+Inf', 'Infinity')))) {
    throw new Error(`not a sample: ${line}`)
  }
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < inner.length) {
    const [, label, text] = LABEL.exec(inner) ?? []
    if (label === undefined || text === undefined) throw new Error(`not labels: ${inner}`)
    labels[label] = text
  }
  return { name, labels, value: Number(value?.replace('+Inf', 'Infinity')) }
}

function familyNames(sample: string): string[] {
  return [sample, sample.replace(/_(bucket|sum|count)$/, '')]
}
