/**
 * The limits of a server, within how many files its process may have open.
 *
 * Each connection is a file. Without any left the process could neither accept one nor reach its database.
 */
import { readFile } from 'node:fs/promises'
import type { Limits } from './limits.ts'

/** For the connections to the database, files, and whatever else the process needs. */
const RESERVED = 200

/** Even a process that may open nearly nothing should answer somebody. */
const FEWEST_CONNECTIONS = 16

/** The same limits, with no more connections than the process can have. */
export function withinOpenFiles(limits: Limits, maxOpenFiles: number): Limits {
  const room = Math.max(FEWEST_CONNECTIONS, maxOpenFiles - RESERVED)
  return { ...limits, maxConnections: Math.min(limits.maxConnections, room) }
}

/** How many files this process may have open; infinitely many where the system does not say. */
export async function readMaxOpenFiles(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}
