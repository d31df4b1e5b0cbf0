/**
 * What Linux says about the resources of processes.
 */
import { readFileSync } from 'node:fs'
import { descendantsOf } from '../../test/support/proc.ts'

/** Ticks of a second in `/proc`; the kernel has no other value for programs. */
const TICKS_PER_SECOND = 100

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
 * Memory of some processes and of all that they have started, in MiB. What several have in common is counted once among
 * them: of the pages of PostgreSQL most are.
 */
export function sharedMegabytesOf(pids: readonly number[]): number {
  const all = pids.flatMap((pid) => [pid, ...descendantsOf(pid)])
  return [...new Set(all)].map(proportionalKilobytesOf).reduce((sum, value) => sum + value, 0) / 1024
}

/** 0 if the process has ended meanwhile. */
function proportionalKilobytesOf(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** `utime` and `stime`, proc(5). The name of the program before them, in brackets, may hold anything. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}
