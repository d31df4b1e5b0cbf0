/**
 * The end of a connection, whichever it has: `once` of node:events fails when it is reset, which a peer that closes with
 * something unread does.
 */
import type { EventEmitter } from 'node:events'

/** Resolves when it closes. Call this before it can; who has made it listens to its errors. */
export function closed(connection: EventEmitter): Promise<unknown> {
  return new Promise((resolve) => connection.once('close', resolve))
}
