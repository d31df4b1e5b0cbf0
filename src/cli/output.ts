/**
 * What a command prints: words for people, or with `--json` what the API returns.
 */
import { type DescMessage, type JsonValue, type MessageShape, toJson } from '@bufbuild/protobuf'
import type { Io } from './io.ts'
import type { RemoteOptions } from './options.ts'

/** Prints a response: as JSON if that is asked for, otherwise in words. */
export function print<Desc extends DescMessage>(
  io: Io,
  options: RemoteOptions,
  schema: Desc,
  response: MessageShape<Desc>,
  text: () => string,
): void {
  printJson(io, options, toJson(schema, response), text)
}

/** Prints a response that is JSON already, like `print`. */
export function printJson(io: Io, options: RemoteOptions, json: JsonValue, text: () => string): void {
  io.stdout.write(`${options.json === true ? JSON.stringify(json, null, 2) : text()}\n`)
}
