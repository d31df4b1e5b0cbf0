/**
 * Prints responses of the API. Apart from `output.ts`, which commands use that load no messages.
 */
import { type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf'
import type { Paint } from './color.ts'
import type { Io } from './io.ts'
import { type OutputOptions, printJson } from './output.ts'

/**
 * Prints a response.
 *
 * @param text Makes the table or text. It gets what paints headings.
 */
export function print<Desc extends DescMessage>(
  io: Io,
  options: OutputOptions,
  schema: Desc,
  response: MessageShape<Desc>,
  text: (heading: Paint) => string,
): void {
  printJson(io, options, toJson(schema, response), text)
}
