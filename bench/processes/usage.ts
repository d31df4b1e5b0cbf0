/**
 * What Linux says about the resources of processes.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { descendantsOf } from '../../test/support/proc.ts'

/** Ticks of a second in `/proc`; the kernel has no other value for programs. */
const TICKS_PER_SECOND = 100

/** Of x64, and of most arm64 kernels. */
const PAGE_BYTES = 4096
/** An entry of `/proc/<pid>/pagemap`, and in its highest byte bits 63 (present) and 61 (of a file, or shared): proc_pid_pagemap(5). */
const PAGEMAP_ENTRY_BYTES = 8
const PRESENT_FILE_PAGE = 0b1010_0000

/** CPU time that some processes have used so far, all threads, user and system, in seconds. */
export function cpuSecondsOf(pids: readonly number[]): number {
  return pids.map(ticksOf).reduce((sum, ticks) => sum + ticks, 0) / TICKS_PER_SECOND
}

/** Memory of some processes that is in RAM, in MiB. */
export function residentMegabytesOf(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  })
  return kilobytes.reduce((sum, value) => sum + value, 0) / 1024
}

/**
 * Memory that some processes, and all that they have started, would need on a machine of their own, in MiB: all pages that they have in
 * RAM. A page that several of them have counts once, and as a whole if processes beside them have it too, as those of an executable
 * that runs twice. `Pss` would divide such a page among all processes of this machine.
 */
export function sharedMegabytesOf(pids: readonly number[]): number {
  const pages = new Set<string>()
  let anonymousBytes = 0
  for (const pid of new Set(pids.flatMap((pid) => [pid, ...descendantsOf(pid)]))) {
    try {
      anonymousBytes += anonymousBytesOf(pid)
      for (const page of filePagesOf(pid)) pages.add(page)
    } catch {
      // The process has ended meanwhile.
    }
  }
  return (anonymousBytes + pages.size * PAGE_BYTES) / 2 ** 20
}

/** Pages of no file. A page that was there before a fork is divided, among processes that all are in the sum. */
function anonymousBytesOf(pid: number): number {
  return 1024 * Number(/^Pss_Anon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
}

/** Pages of files and of shared memory, which has an inode too, that a process has in RAM; named by file and place in it. */
function filePagesOf(pid: number): string[] {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').trimEnd().split('\n')
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r')
  try {
    return maps.flatMap((line) => {
      const [range = '', , offset = '', device, inode] = line.split(' ')
      if (inode === '0') return []
      const [begin = 0, end = 0] = range.split('-').map((address) => Number.parseInt(address, 16) / PAGE_BYTES)
      const first = Number.parseInt(offset, 16) / PAGE_BYTES
      return filePagesIn(pagemap, { begin, end }).map((index) => `${device} ${inode} ${first + index}`)
    })
  } finally {
    closeSync(pagemap)
  }
}

/** Which pages of a mapping are in RAM and not a copy of the process's own. */
function filePagesIn(pagemap: number, { begin, end }: { readonly begin: number; readonly end: number }): number[] {
  const entries = Buffer.alloc((end - begin) * PAGEMAP_ENTRY_BYTES)
  const read = readSync(pagemap, entries, { position: begin * PAGEMAP_ENTRY_BYTES }) / PAGEMAP_ENTRY_BYTES
  return Array.from({ length: read }, (_, index) => index).filter((index) => {
    const flags = entries[(index + 1) * PAGEMAP_ENTRY_BYTES - 1] ?? 0
    return (flags & PRESENT_FILE_PAGE) === PRESENT_FILE_PAGE
  })
}

/** `utime` and `stime`, proc(5). The name of the program before them, in brackets, may hold anything. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}
