/**
 * Text files that an argument or an option names.
 */
import { readFile } from 'node:fs/promises'

/** The text of a file. @throws {Error} if it cannot be read, with the error of the system as its cause. */
export async function readTextFile(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`cannot read ${file}`, { cause })
  })
}
