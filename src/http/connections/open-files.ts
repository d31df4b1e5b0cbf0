/**
 * Fits the connection limit of a server to the limit of open files of its process.
 *
 * Each connection is a file. Without a free one the process could neither accept a connection nor reach its database.
 */
import { readFile } from 'node:fs/promises'
import type { Limits } from './limits.ts'

/** Open files that are not client connections: to the database, to other files. */
const RESERVED = 200

/** Even with a very low limit of open files. */
const MIN_CONNECTIONS = 16

/** The same limits, with no more connections than the process can have. */
export function withinOpenFiles(limits: Limits, maxOpenFiles: number): Limits {
  const available = Math.max(MIN_CONNECTIONS, maxOpenFiles - RESERVED)
  return { ...limits, maxConnections: Math.min(limits.maxConnections, available) }
}

/** The soft limit of open files of this process; infinity where the system does not say. */
export async function readMaxOpenFiles(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}
