/**
 * What Linux knows about processes and their connections.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The ids of the processes that this one has started and that run. */
export function childrenOf(pid: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((child) => statOf(Number(child))?.parent === pid && isRunning(Number(child))).map(Number)
}

/** The ids of the processes that this one has started, and those, and so on, and that run. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

/** Whether a process is there and has not ended. */
export function isRunning(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== undefined && !['Z', 'X'].includes(stat.state)
}

/** Which of these processes holds the server's end of a connection over IPv4 loopback. */
export function ownerOf(pids: readonly number[], ports: { server: number; client: number }): number | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')
  const row = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(`:${hex(ports.server)}`) && remote?.endsWith(`:${hex(ports.client)}`))
  const target = `socket:[${row?.[9]}]`
  return pids.find((pid) => readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === target))
}

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    // The name of the program, in brackets, may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ') ?? []
    return { state: fields[0] ?? '', parent: Number(fields[1]) }
  } catch {
    return undefined
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
