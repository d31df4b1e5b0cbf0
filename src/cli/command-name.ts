/**
 * How a user starts the command line again, from the folder and with the PATH of this process: `keyturn` is on the PATH after a global
 * installation, `npx keyturn` works in a checkout and where the package is a dependency, and a path works anywhere.
 */
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { Io } from './io.ts'

/** The command, as it is typed before its arguments. @param cwd The folder in which it is typed. */
export function commandName({ program, env }: Pick<Io, 'program' | 'env'>, cwd: string = process.cwd()): string {
  const file = program === undefined ? undefined : realPath(program)
  if (file === undefined || isOnPath(file, env.PATH ?? '')) return 'keyturn'
  if (isFoundByNpx(file, cwd)) return 'npx keyturn'
  return [process.execPath, file].map(quoted).join(' ')
}

/**
 * A message in which each command in quotes, `"keyturn …"`, begins as the user types it. Parts that do not know how the program was
 * started write their messages that way.
 */
export function namingCommands(message: string, io: Pick<Io, 'program' | 'env'>): string {
  return message.includes('"keyturn ') ? message.replaceAll('"keyturn ', () => `"${commandName(io)} `) : message
}

/** npm puts folders on the PATH of what it runs, which the user's shell does not have. */
function isOnPath(file: string, path: string): boolean {
  const folders = path.split(delimiter).filter((folder) => folder !== '' && !/\/node_modules\/\.bin\/?$/.test(folder))
  const first = folders.map((folder) => join(folder, 'keyturn')).find((candidate) => existsSync(candidate))
  return first !== undefined && realPath(first) === file
}

/** npx looks in the nearest package above the folder: in its own program, and in those that are installed in it. */
function isFoundByNpx(file: string, cwd: string): boolean {
  const root = nearestPackage(cwd)
  if (root === undefined) return false
  return ['node_modules/.bin/keyturn', 'src/cli/keyturn.js'].some((path) => realPath(join(root, path)) === file)
}

function nearestPackage(folder: string): string | undefined {
  if (['package.json', 'node_modules'].some((name) => existsSync(join(folder, name)))) return folder
  return dirname(folder) === folder ? undefined : nearestPackage(dirname(folder))
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
