/**
 * What is wrong in files of a configuration, and where: by file, line and column, as compilers write it and editors follow it.
 */

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

  constructor(unordered: readonly FileMistake[]) {
    const mistakes = unordered.toSorted(inFile)
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
    super([`the configuration has ${count}, and nothing was changed`, ...mistakes.map(lineOf)].join('\n'))
    this.mistakes = mistakes
  }
}

/** By line and column; files stay in their order. */
function inFile(one: FileMistake, other: FileMistake): number {
  if (one.file !== other.file) return 0
  return (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)
}

/** The place as it begins a line of a compiler. */
export function formatPlace({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`
}

function lineOf({ file, line = 1, column = 1, field, message }: FileMistake): string {
  const place = file === undefined ? [] : [formatPlace({ file, line, column })]
  return [...place, ...(field === '' ? [] : [field]), message].join(': ')
}
