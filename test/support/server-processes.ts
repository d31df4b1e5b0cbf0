/**
 * The processes of an embedded database, as Linux knows them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isRunning } from './proc.ts'

/** A process and what it was started with. */
export interface ServerProcess {
  readonly pid: number
  readonly command: readonly string[]
}

/** The server, its children, and the shells beside it. */
export async function processesOn(database: string): Promise<ServerProcess[]> {
  const { ino } = await stat(database)
  const mark = `-${ino.toString(16)}`
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids
    .map((pid) => ({ pid: Number(pid), command: commandOf(pid) }))
    .filter(
      ({ pid, command }) =>
        command.some((part) => /keyturn-[0-9a-f]+-/.test(part) && part.includes(mark)) && isRunning(pid),
    )
}

/** The server itself. */
export function serverAmong(processes: readonly ServerProcess[]): number | undefined {
  return processes.find(({ command: [program = ''] }) => program.endsWith('/bin/postgres'))?.pid
}

/** The shells that wait for the end of Keyturn. */
export function shellsAmong(processes: readonly ServerProcess[]): number[] {
  return processes.filter(({ command: [program] }) => program === '/bin/sh').map(({ pid }) => pid)
}

function commandOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
