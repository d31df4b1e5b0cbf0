/**
 * What a command prints: text or a table, or with `--output` what the API returns, as JSON or YAML. Colours are for terminals only;
 * `NO_COLOR` (no-color.org) and `TERM=dumb` switch them off, as Node.js has it.
 */
import { parseArgs, styleText } from 'node:util'
import { type DescField, type DescMessage, isMessage, type JsonValue, type MessageShape } from '@bufbuild/protobuf'
import { isReflectList, isReflectMessage, type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect'
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt'
import { type Command, Option } from 'commander'
import { printable } from '../domain/printable.ts'
import type { Io } from './io.ts'
import { formatDuration, formatMoment } from './times.ts'

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

type Stream = 'stdout' | 'stderr'

/** The styles of `painter` (ECMA-48 §8.3.117), and the ends of lines. */
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
  const options = { output: { type: 'string' }, json: { type: 'boolean' } } as const
  const { output, json } = parseArgs({ args: argv, options, strict: false }).values
  return json ? 'json' : (FORMATS.find((format) => format === output) ?? 'table')
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

/** The items in a field of a response, one a row. @param columns Fields of an item. Default: the item itself. */
export function tableOf<Desc extends DescMessage>(
  schema: Desc,
  response: MessageShape<Desc>,
  { items, columns }: { readonly items: string; readonly columns?: readonly string[] | undefined },
): Table {
  const list = schema.field[items]
  const all = [...((list && reflect(schema, response).get(list)) as Iterable<unknown>)]
  const fields = (columns ?? []).flatMap((name) => list?.message?.field[name] ?? [])
  const heading = list === undefined || columns === undefined ? [items] : fields.map(nameOf)
  const rows = all.map((item) => (isReflectMessage(item) ? fields.map((field) => cellOf(item, field)) : [String(item)]))
  return { heading: heading.map((name) => name.toUpperCase()), rows }
}

/** The fields of a message, one a line. Those of the messages in it follow under its own, without a name before them. */
export function formatMessage<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string {
  const fields = fieldsOf(reflect(schema, message))
  const width = Math.max(0, ...fields.map(([name]) => name.length))
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
}

function fieldsOf(message: ReflectMessage, prefix?: string): (readonly [name: string, value: string])[] {
  const shown = message.fields.filter((field) => field.oneof === undefined || message.isSet(field))
  return shown.flatMap((field) => {
    const name = `${prefix ?? ''}${nameOf(field)}`
    const value = message.get(field)
    const isPart = isReflectMessage(value) && value.fields.length > 0 && !isTime(value)
    if (isPart) return message.isSet(field) ? fieldsOf(value, prefix === undefined ? '' : `${name} `) : []
    // Warnings are printed apart.
    return name === 'warnings' ? [] : [[name, cellOf(message, field)] as const]
  })
}

function nameOf({ name }: DescField): string {
  return name.replaceAll('_', ' ')
}

function isTime({ message }: ReflectMessage): boolean {
  return isMessage(message, TimestampSchema) || isMessage(message, DurationSchema)
}

function cellOf(message: ReflectMessage, field: DescField): string {
  const isMissing = field.message !== undefined && !message.isSet(field)
  return (isMissing ? '' : textOf(field, message.get(field))) || '-'
}

function textOf(field: DescField, value: unknown): string {
  if (isReflectList(value)) return Array.from(value, (item) => textOf(field, item)).join(' ')
  if (!isReflectMessage(value)) return field.enum?.value[Number(value)]?.localName ?? String(value)
  const { message } = value
  if (isMessage(message, TimestampSchema)) return formatMoment(message)
  if (isMessage(message, DurationSchema)) return formatDuration(message)
  const parts = value.fields.filter((part) => value.isSet(part))
  return parts
    .map((part) => `${part.oneof === undefined ? '' : `${nameOf(part)} `}${textOf(part, value.get(part))}`)
    .join(':')
}

export function painter(io: Pick<Io, Stream>, stream: Stream, style: 'bold' | 'red' | 'green' | 'yellow') {
  return (text: string) => styleText(style, text, { stream: io[stream] })
}
