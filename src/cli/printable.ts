/**
 * What a command has put together for a terminal.
 */
import { printable } from '../domain/printable.ts'

/** The colours of `color.ts`, and the ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds.
const OWN = /(\u001b\[(?:1|22|31|32|33|39)m|\n)/

/** Its own lines and colours stay, and of texts of others nothing gets through. */
export function printableLines(text: string): string {
  return text
    .split(OWN)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join('')
}
