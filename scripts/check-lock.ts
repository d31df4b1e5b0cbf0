/**
 * Fails when package-lock.json would let npm install something that it cannot check, or names a registry.
 *
 * `--release` allows no exception. Without it, an entry of another platform's development tool may lack its integrity if
 * it is in `lock-without-integrity.txt`: the registry in use may not offer it. `add-integrity.ts` fills those gaps.
 */
import { isOwn, type LockedPackages, mayLackIntegrity, readKnownGaps, readLock } from './lock-file.ts'

const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/

/**
 * What is wrong with a lock, one sentence each.
 *
 * @param knownGaps Paths of entries that may lack an integrity. A listed entry that has one is a fault too, so that the
 *   list only ever names real gaps.
 */
export function lockFaults(packages: LockedPackages, knownGaps: readonly string[]): string[] {
  const known = new Set(knownGaps)
  const faults = knownGaps
    .filter((path) => packages[path] === undefined || packages[path].integrity !== undefined)
    .map((path) => `${path} is listed as an entry without integrity, but is not one`)
  for (const [path, entry] of Object.entries(packages)) {
    if (isOwn(path, entry)) continue
    if (entry.resolved !== undefined) faults.push(`${path} has the address it was downloaded from`)
    if (entry.integrity !== undefined) {
      if (!SHA512.test(entry.integrity)) faults.push(`${path} has an integrity that is not one SHA-512`)
    } else if (!mayLackIntegrity(entry)) {
      faults.push(`${path} has no integrity, and is shipped or installed on every platform`)
    } else if (!known.has(path)) {
      faults.push(`${path} has no integrity`)
    }
  }
  return faults
}

if (import.meta.main) {
  const release = process.argv.includes('--release')
  const faults = lockFaults(readLock().packages, release ? [] : readKnownGaps())
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) {
    console.error(
      '\nA missing integrity is filled in by "npx node scripts/add-integrity.ts" on a registry that has the package.',
    )
    process.exitCode = 1
  }
}
