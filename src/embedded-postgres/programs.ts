/**
 * Finds the programs of the embedded PostgreSQL, in the installed npm package and nowhere else: a PostgreSQL of the machine
 * may have another version, and what is on the PATH may be anything.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { INSTEAD, type Platform, packageFor } from './platform.ts'
import { missingLinks, type ProgramLink } from './program-links.ts'

/** The major version of PostgreSQL that the packages have, as in the file PG_VERSION of a database folder. */
export const POSTGRES_MAJOR = '18'

/** Installed programs. */
export interface Programs {
  /** The folder with `bin`, `lib` and `share`. */
  readonly folder: string
  /** Of the package. */
  readonly version: string
  /** What the install script of the package has not made, because npm did not run it. */
  readonly missingLinks: readonly ProgramLink[]
}

/**
 * Finds the programs for a platform.
 *
 * @param from A file of the program that depends on the package.
 * @throws {Error} that says in one sentence why there are none and what to do.
 */
export async function findPrograms(platform: Platform, from: string = import.meta.filename): Promise<Programs> {
  const name = packageFor(platform)
  const root = rootOf(name, from)
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  return { folder: join(root, 'native'), version, missingLinks: await missingLinks(root) }
}

function rootOf(name: string, from: string): string {
  try {
    return join(dirname(createRequire(from).resolve(name)), '..')
  } catch (cause) {
    throw new Error(
      `the embedded PostgreSQL is not installed (the npm package ${name} is missing): ` +
        `install it with "npm install --include=optional" or ${INSTEAD}`,
      { cause },
    )
  }
}
