/**
 * What a command prints: a table or text, or with `--output` what the API returns, as JSON or YAML.
 */
import type { JsonValue } from '@bufbuild/protobuf'
import { type Command, Option } from 'commander'
import { printable } from '../domain/printable.ts'
import { type Paint, painter } from './color.ts'
import type { Io } from './io.ts'
import { printableLines } from './printable.ts'
import { formatYaml } from './yaml.ts'

const FORMATS = ['table', 'json', 'yaml'] as const

/** How a result, and an error, is printed. */
export type OutputFormat = (typeof FORMATS)[number]

/** The values of the options. */
export interface OutputOptions {
  readonly output?: OutputFormat
  readonly json?: boolean
}

/** Adds the options to a command. */
export function withOutputOptions(command: Command): Command {
  return command
    .addOption(new Option('--output <format>', 'how to print the result (default: table)').choices(FORMATS))
    .addOption(new Option('--json', 'short for --output json').conflicts('output'))
}

/** The format that the options name. */
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

/**
 * Prints a result.
 *
 * @param text Makes the table or text. It gets what paints headings.
 */
export function printJson(io: Io, options: OutputOptions, json: JsonValue, text: (heading: Paint) => string): void {
  const format = formatOf(options)
  const printed = format === 'table' ? text(painter(io, 'stdout', 'bold')) : formatJson(json, format)
  // In the strings of JSON and YAML an escape sequence is the same character.
  io.stdout.write(`${printableLines(printed)}\n`)
}

/** Prints warnings on standard error, one a line. */
export function printWarnings(io: Io, warnings: readonly string[]): void {
  const paint = painter(io, 'stderr', 'yellow')
  for (const warning of warnings) io.stderr.write(`${paint('warning:')} ${printable(warning)}\n`)
}

function formatJson(json: JsonValue, format: 'json' | 'yaml'): string {
  return format === 'yaml' ? formatYaml(json) : JSON.stringify(json, null, 2)
}
