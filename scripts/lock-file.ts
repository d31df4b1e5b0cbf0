/**
 * Reads and writes package-lock.json, and the list of its entries that are known to have no integrity.
 *
 * What both must hold is in `check-lock.ts`. All paths are relative to the working directory, the root of a checkout.
 */
import { readFileSync, writeFileSync } from 'node:fs'

export interface LockedPackage {
  /** If it differs from the path, under which an alias is installed. */
  readonly name?: string
  readonly version?: string
  /** A Subresource Integrity string, against which npm checks the package that it downloads. */
  readonly integrity?: string
  readonly resolved?: string
  /** A workspace, which `resolved` names. */
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** By their path, such as `node_modules/jose`. The path of the project itself is empty, that of a workspace its folder. */
export type LockedPackages = Record<string, LockedPackage>

export interface LockFile {
  packages: LockedPackages
}

const LOCK_FILE = 'package-lock.json'
const KNOWN_GAPS_FILE = 'scripts/lock-without-integrity.txt'

export function readLock(): LockFile {
  return JSON.parse(readFileSync(LOCK_FILE, 'utf8')) as LockFile
}

/** Paths of entries that may lack an integrity, until a registry that offers them has been asked. One on a line. */
export function readKnownGaps(): string[] {
  return readFileSync(KNOWN_GAPS_FILE, 'utf8').split('\n').filter(Boolean)
}

/** Whether an entry is the project, one of its workspaces, or the link to one: nothing that npm downloads. */
export function isOwn(path: string, { link, resolved = '' }: LockedPackage): boolean {
  return !(link === true ? resolved : path).includes('node_modules/') && !/^\w+:/.test(resolved)
}

/** Writes the lock sorted by path as npm does, and the list of what lacks an integrity in it and may. */
export function writeLock(lock: LockFile): void {
  const { '': root = {}, ...rest } = lock.packages
  const sorted = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(
    LOCK_FILE,
    `${JSON.stringify({ ...lock, packages: { '': root, ...Object.fromEntries(sorted) } }, null, 2)}\n`,
  )
  const gaps = sorted.filter(([, entry]) => entry.integrity === undefined && mayLackIntegrity(entry))
  writeFileSync(KNOWN_GAPS_FILE, gaps.map(([path]) => `${path}\n`).join(''))
}

/** Only tools of other platforms may: what is shipped, and what has to be installed everywhere, never. */
export function mayLackIntegrity({ dev, optional }: LockedPackage): boolean {
  return dev === true && optional === true
}
