/**
 * Fills in the integrity of each entry of package-lock.json that has none, from the registry that npm uses.
 *
 * What the registry does not offer stays as it is, on the list of known gaps. Installs nothing and runs no code of a package.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isOwn, readLock, writeLock } from './lock-file.ts'

const REQUESTS_AT_ONCE = 4

/** `undefined` if the registry does not have that version. */
async function integrityOf(name: string, version: string): Promise<string | undefined> {
  try {
    // Whatever npm is configured to print, errors have to be readable here.
    const args = ['view', '--loglevel=error', `${name}@${version}`, 'dist.integrity']
    const { stdout } = await promisify(execFile)('npm', args)
    return stdout.trim() || undefined
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    if (/\bE404\b/.test(stderr)) return undefined
    throw error
  }
}

const lock = readLock()
const gaps = Object.entries(lock.packages).filter(
  ([path, entry]) => !isOwn(path, entry) && entry.integrity === undefined,
)
let filled = 0

async function fillGaps(): Promise<void> {
  for (let gap = gaps.pop(); gap !== undefined; gap = gaps.pop()) {
    const [path, entry] = gap
    const { version, name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length) } = entry
    if (version === undefined) throw new Error(`${path} has no version`)
    const integrity = await integrityOf(name, version)
    if (integrity === undefined) {
      console.log(`${name}@${version}: not offered by this registry`)
    } else {
      lock.packages[path] = { version, integrity, ...entry }
      filled += 1
    }
  }
}

const count = gaps.length
await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, fillGaps))
writeLock(lock)
console.log(`${filled} of ${count} missing integrities filled in`)
