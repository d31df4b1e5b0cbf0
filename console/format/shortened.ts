/**
 * Identifiers that are too long to be read.
 */

const SHOWN = 8

/** The beginning of an identifier, enough to tell it from others. */
export function shortened(id: string): string {
  return id.length <= SHOWN + 2 ? id : `${id.slice(0, SHOWN)}…`
}
