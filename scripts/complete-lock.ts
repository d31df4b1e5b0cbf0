/**
 * Puts the packages of other platforms back into package-lock.json.
 *
 * `npm install` leaves out what the registry in use does not offer, and then `npm ci` refuses the lock file. Run it after
 * every `npm install` that changed the lock; a test fails when it is due. The entries have no integrity, which only a
 * registry that offers the packages can tell (`add-integrity.ts`); they are put on the list of known gaps.
 */
import { type LockedPackages, readLock, writeLock } from './lock-file.ts'

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32']
const PROCESSORS = ['arm64', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'arm']

/** Entries for the optional packages of an exact version that the lock lacks, by their path. */
export function missingPackages(packages: LockedPackages): LockedPackages {
  const missing: LockedPackages = {}
  for (const [path, { dev, optionalDependencies = {} }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const places = [`${path === '' ? '' : `${path}/`}node_modules/${name}`, `node_modules/${name}`]
      if (places.some((place) => place in packages) || !/^\d/.test(version)) continue
      missing[`node_modules/${name}`] = {
        version,
        ...(dev ? { dev } : {}),
        optional: true,
        ...platformOf(name),
      }
    }
  }
  return missing
}

/** What such packages run on, which their names say. */
function platformOf(name: string): object {
  const words = name.split(/[/-]/)
  const isFor = (value: string) => words.some((word) => word === value || (value === 'arm' && /^armv\d/.test(word)))
  const os = SYSTEMS.filter(isFor)
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : words.some((word) => word.startsWith('gnu'))
      ? ['glibc']
      : []
  return { cpu: PROCESSORS.filter(isFor), os, ...(os.includes('linux') && libc.length > 0 ? { libc } : {}) }
}

if (import.meta.main) {
  const lock = readLock()
  Object.assign(lock.packages, missingPackages(lock.packages))
  writeLock(lock)
}
