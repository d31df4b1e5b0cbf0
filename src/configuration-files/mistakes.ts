/**
 * What is wrong in files of a configuration, and where: by file, line and column, as compilers write it and editors follow it.
 */

import { printable } from '../domain/printable.ts'

/** A place in a file. Lines and columns begin at 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** Something that is wrong at a place. */
export interface FileMistake extends Partial<Place> {
  /** The field in its document, for example `publicKeys[0].kty`. Empty: the document or the file. */
  readonly field: string
  readonly message: string
}

/** Thrown with all mistakes of the files. Its message has one line for each. */
export class ConfigurationMistakes extends Error {
  readonly mistakes: readonly FileMistake[]

  constructor(mistakes: readonly FileMistake[]) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
    super([`the configuration has ${count}, and nothing was changed`, ...mistakes.map(lineOf)].join('\n'))
    this.mistakes = mistakes
  }
}

/** In the order of the files, and by line and column in each. Those without a place come first. */
export function inOrderOf(
  files: readonly { readonly name: string }[],
  mistakes: readonly FileMistake[],
): FileMistake[] {
  const names = files.map(({ name }) => name)
  const indexOf = ({ file = '' }: FileMistake) => names.indexOf(file)
  return mistakes.toSorted(
    (one, other) =>
      indexOf(one) - indexOf(other) || (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  )
}

/** Names come from files, and may have line breaks. */
function lineOf({ file, line = 1, column = 1, field, message }: FileMistake): string {
  const place = file === undefined ? [] : [`${file}:${line}:${column}`]
  return printable([...place, ...(field === '' ? [] : [field]), message].join(': '))
}
