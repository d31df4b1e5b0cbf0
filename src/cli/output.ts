/**
 * What a command prints: text or a table, or with `--output` what the API returns, as JSON or YAML. Colours are for terminals only;
 * `NO_COLOR` (no-color.org) and `TERM=dumb` switch them off.
 */
import type { JsonValue } from '@bufbuild/protobuf'
import { type Command, Option } from 'commander'
import { printable } from '../domain/printable.ts'
import type { Io } from './io.ts'

const FORMATS = ['table', 'json', 'yaml'] as const

export type OutputFormat = (typeof FORMATS)[number]

export interface OutputOptions {
  readonly output?: OutputFormat
  readonly json?: boolean
}

export interface Table {
  readonly heading: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export type Shown = string | Table

export type Paint = (text: string) => string

type Stream = 'stdout' | 'stderr'

/** Select Graphic Rendition (ECMA-48 §8.3.117): how each begins, and how it ends. */
const STYLES = { bold: [1, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

/** The styles above, and the ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds.
const OWN = /(\u001b\[(?:1|22|31|32|33|39)m|\n)/

export function withOutputOptions(command: Command): Command {
  return command
    .addOption(new Option('--output <format>', 'how to print the result (default: table)').choices(FORMATS))
    .addOption(new Option('--json', 'short for --output json').conflicts('output'))
}

export function formatOf({ output, json }: OutputOptions): OutputFormat {
  return output ?? (json === true ? 'json' : 'table')
}

/** The format that a command line names, also one that cannot be parsed. */
export function formatIn(argv: readonly string[]): OutputFormat {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  if (words.includes('--json')) return 'json'
  const option = words.findLastIndex((word) => word === '--output' || word.startsWith('--output='))
  const value = words[option]?.split('=')[1] ?? words[option + 1]
  return option === -1 ? 'table' : (FORMATS.find((format) => format === value) ?? 'table')
}

/** Prints a result. @param shown What a person reads. */
export async function printResult(
  io: Io,
  options: OutputOptions,
  json: JsonValue,
  shown: () => Shown | Promise<Shown>,
): Promise<void> {
  const format = formatOf(options)
  const text = format === 'table' ? formatShown(await shown(), io) : await serialize(json, format)
  // In the strings of JSON and YAML an escape sequence is the same character.
  io.stdout.write(`${printableLines(text)}\n`)
}

/** Without a line break at its end. @param indent 0: JSON takes one line. */
export async function serialize(json: JsonValue, format: Exclude<OutputFormat, 'table'>, indent = 2): Promise<string> {
  if (format === 'json') return JSON.stringify(json, null, indent)
  const { formatYaml } = await import('../configuration-files/format.ts')
  return formatYaml(json)
}

export function printWarnings(io: Io, warnings: readonly string[]): void {
  const paint = painter(io, 'stderr', 'yellow')
  for (const warning of warnings) io.stderr.write(`${paint('warning:')} ${printable(warning)}\n`)
}

/** Lines and colours of the command stay, and of texts of others nothing gets through. */
export function printableLines(text: string): string {
  return text
    .split(OWN)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join('')
}

function formatShown(shown: Shown, io: Io): string {
  if (typeof shown === 'string') return shown
  const [heading = '', ...rows] = formatTable(shown)
  return [painter(io, 'stdout', 'bold')(heading), ...rows].join('\n')
}

/** The lines of a table: columns as wide as their widest cell, two blanks between them. */
export function formatTable({ heading, rows }: Table): string[] {
  const lines = [heading, ...rows.map((row) => row.map(printable))]
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const pad = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0)
  return lines.map((line) => line.map(pad).join('  ').trimEnd())
}

export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd()).join('\n')
}

export function showsColors({ env, terminals }: Pick<Io, 'env' | 'terminals'>, stream: Stream): boolean {
  return terminals?.[stream] === true && !env.NO_COLOR && env.TERM !== 'dumb'
}

export function painter(io: Pick<Io, 'env' | 'terminals'>, stream: Stream, style: keyof typeof STYLES): Paint {
  if (!showsColors(io, stream)) return (text) => text
  const [begin, end] = STYLES[style]
  return (text) => `\u001b[${begin}m${text}\u001b[${end}m`
}
