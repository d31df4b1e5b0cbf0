/**
 * Text of others in what a person reads. A name, or what a server answers, must neither control the terminal nor look like a line of its own.
 */

/** Control characters (C0, C1, DEL), those that change the direction of text, and separators of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** The colours of `color.ts`, and the ends of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds.
const OWN = /(\u001b\[(?:1|22|31|32|33|39)m|\n)/

/** What a command has put together for a terminal: its own lines and colours stay, and of texts of others nothing gets through. */
export function printableLines(text: string): string {
  return text
    .split(OWN)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join('')
}

/** The text with such characters as escape sequences of JSON, for example `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
