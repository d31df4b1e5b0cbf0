/**
 * Text of others in what a person reads. A name must neither look like another one, nor control the terminal, nor look like a line of its own.
 */

/** Characters without a shape, such as zero-width ones, those that change the direction of text (UAX #9), and separators of lines. */
const INVISIBLE = '\\p{Default_Ignorable_Code_Point}\\u2028\\u2029'
/** C0, DEL and C1. */
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f'

const INVISIBLES = new RegExp(`[${INVISIBLE}]`, 'gu')
const UNPRINTABLES = new RegExp(`[${INVISIBLE}${CONTROLS}]`, 'gu')

/** The text with invisible characters as escape sequences of JSON, for example `\u200b`. For a page, which control characters do nothing to. */
export function visible(text: string): string {
  return text.replace(INVISIBLES, escaped)
}

/** The text with invisible and control characters as escape sequences of JSON, for example `\u001b`. For a terminal. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLES, escaped)
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
