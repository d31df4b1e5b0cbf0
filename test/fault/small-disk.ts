/**
 * A disk of a few megabytes that a test can fill: a tmpfs of its own.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk that is mounted. */
export interface SmallDisk {
  readonly folder: string
  freeBytes(): number
  /** Fills it to the last byte, or leaves some. */
  fill(leaveBytes?: number): void
  /** Removes what filled it. */
  clear(): void
  unmount(): void
}

/** Why no disk can be mounted on this machine, or undefined if one can. */
export function whyNoSmallDisk(): string | undefined {
  try {
    mountSmallDisk(1).unmount()
    return undefined
  } catch (error) {
    return `no tmpfs can be mounted here: ${error instanceof Error ? error.message.trim() : error}`
  }
}

/** Mounts a disk. Unmount it in `afterEach`, whatever happened. */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  const filler = join(folder, 'filler')
  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  }
  return {
    folder,
    freeBytes,
    fill: (leaveBytes = 0) => {
      const file = openSync(filler, 'a')
      try {
        while (freeBytes() > leaveBytes) writeSync(file, Buffer.alloc(Math.min(1 << 20, freeBytes() - leaveBytes)))
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      } finally {
        closeSync(file)
      }
    },
    clear: () => rmSync(filler, { force: true }),
    unmount: () => {
      // Lazily: a server that a failed test leaves behind must not keep the mount point.
      execFileSync('umount', ['-l', folder], { stdio: 'pipe' })
      rmSync(folder, { recursive: true })
    },
  }
}
