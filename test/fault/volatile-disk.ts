/**
 * A disk that loses its volatile write cache when its power is cut, with an ext4 file system on it, and the mounting of what
 * a power cut left.
 *
 * The file system is on a loop device, whose file is served over FUSE by a process of the test (`volatile-disk-worker.ts`).
 * That process sees each write and each flush of the block device in their order, so what it hands out as a crash image is
 * what a real disk may hold after a loss of power: all that was written before the last flush, and of what came later
 * any subset of blocks. A copy of a backing file would be none: copying takes a while, so it mixes states, and it has too
 * much, because it has what was written without a flush.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startWorker } from '../support/processes.ts'
import { BLOCK_BYTES } from './write-cache.ts'

const WORKER = new URL('volatile-disk-worker.ts', import.meta.url)

/** How often ext4 syncs by itself, in seconds. Its default, 5, would save programs that do not sync. */
const COMMIT_SECONDS = 300

/** A file system that is mounted. */
export interface MountedDisk {
  readonly folder: string
  unmount(): Promise<void>
}

/** A disk whose power can be cut. */
export interface VolatileDisk extends MountedDisk {
  /** Writes what a loss of power would leave into a file. The disk goes on. One at a time. */
  cutPower(request: CutRequest): Promise<PowerCut>
}

/** What is asked for. */
export interface CutRequest {
  /** The file that is written. */
  readonly image: string
  /** Decides which blocks of the cache are lost. */
  readonly seed: number
  /** How many more writes of the file system the disk takes first. With 0 the cut is at once. */
  readonly afterWrites: number
}

/** What a loss of power did. */
export interface PowerCut {
  /** Blocks that were in the cache. */
  readonly cached: number
  /** Blocks of them whose newest content is lost. */
  readonly lost: number
  /** Writes of the disk so far. */
  readonly writes: number
}

/** Why no such disk can be mounted on this machine, or undefined if one can. */
export async function whyNoVolatileDisk(): Promise<string | undefined> {
  try {
    await (await mountVolatileDisk(16)).unmount()
    return undefined
  } catch (error) {
    return `no ext4 on a loop device on FUSE can be mounted here: ${error instanceof Error ? error.message.trim() : error}`
  }
}

/** Makes a disk and mounts it. Unmount it in `afterEach`, whatever happened. */
export async function mountVolatileDisk(megabytes: number): Promise<VolatileDisk> {
  const undo: (() => unknown)[] = []
  const unmount = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const home = mkdtempSync(join(tmpdir(), 'keyturn-volatile-'))
    undo.push(() => rmSync(home, { recursive: true }))
    const file = join(home, 'disk')
    writeFileSync(file, '')
    const worker = startWorker(WORKER, [file, String(megabytes << 20)])
    undo.push(() => worker.kill())
    await worker.next()
    undo.push(() => run('umount', '-l', file))
    const device = run('losetup', '--find', '--show', '--sector-size', String(BLOCK_BYTES), file)
    undo.push(() => run('losetup', '--detach', device))
    run('mkfs.ext4', '-q', '-b', String(BLOCK_BYTES), '-E', 'nodiscard', device)
    const { folder, unmount: unmountFolder } = mountOn(device, '-o', `commit=${COMMIT_SECONDS}`)
    undo.push(unmountFolder)
    return {
      folder,
      cutPower: (request) => {
        worker.send(request)
        return worker.next<PowerCut>()
      },
      unmount,
    }
  } catch (error) {
    await unmount()
    throw error
  }
}

/** Mounts what a power cut left, as the next start of the machine would. Unmount it in `afterEach`, whatever happened. */
export function mountCrashImage(image: string): MountedDisk {
  return mountOn(image, '-o', 'loop')
}

function mountOn(source: string, ...options: string[]): MountedDisk {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-mounted-'))
  try {
    run('mount', '-t', 'ext4', ...options, source, folder)
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  return {
    folder,
    unmount: async () => {
      // Lazily: a server that a failed test leaves behind must not keep the mount point.
      run('umount', '-l', folder)
      rmSync(folder, { recursive: true })
    },
  }
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { stdio: 'pipe', encoding: 'utf8', timeout: 60_000 }).trim()
}
