/**
 * The `ChangeFeed` on a database: LISTEN on a connection of its own, opened again whenever it is lost.
 *
 * Only a hint. Who uses it also compares versions now and then, so a silent cut that TCP notices late does no harm.
 */
import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { ChangeFeed } from '../domain/ports.ts'
import type { DatabaseOptions } from './database.ts'
import { CHANGES_CHANNEL } from './instance-row.ts'
import {
  APPLICATION_NAME,
  assertReadableUrl,
  CONNECT_TIMEOUT_MILLIS,
  KEEP_ALIVE_DELAY_MILLIS,
  type PostgresOptions,
} from './postgres-pool.ts'

const FIRST_RETRY_MILLIS = 100
const LAST_RETRY_MILLIS = 5_000

/**
 * Announcements of changes. An embedded database has one process, which knows what it changed, so nothing is announced.
 *
 * Connecting never fails towards the subscriber; it is logged and tried again until the subscription ends.
 *
 * @throws {Error} if the URL cannot be read.
 */
export function createChangeFeed(options: DatabaseOptions): ChangeFeed {
  if (options.kind === 'embedded') return { subscribe: () => async () => {} }
  assertReadableUrl(options.url)
  return {
    subscribe: (onChange) => {
      const subscription = new AbortController()
      const ended = listenUntilEnded(options, subscription.signal, onChange)
      return async () => {
        subscription.abort()
        await ended
      }
    },
  }
}

async function listenUntilEnded(
  { url, log }: PostgresOptions,
  subscription: AbortSignal,
  onChange: () => void,
): Promise<void> {
  let failures = 0
  while (!subscription.aborted) {
    const onListening = (): void => {
      failures = 0
      onChange()
    }
    const reason = await listenUntilLost(url, subscription, { onListening, onChange })
    if (subscription.aborted) return
    log.warn({ reason }, 'the database connection that announces changes was lost')
    await delay(retryDelayMillis(failures), undefined, { signal: subscription }).catch(() => {})
    failures += 1
  }
}

/** Doubles up to a limit, and is random in its upper half, so that replicas do not come back all at once. */
function retryDelayMillis(failures: number): number {
  const longest = Math.min(LAST_RETRY_MILLIS, FIRST_RETRY_MILLIS * 2 ** failures)
  return longest * (0.5 + Math.random() / 2)
}

/** Listens on one connection for as long as it lasts, and returns why it does not any more. */
async function listenUntilLost(
  url: string,
  subscription: AbortSignal,
  { onListening, onChange }: { readonly onListening: () => void; readonly onChange: () => void },
): Promise<string> {
  const socket = new Socket()
  // Not `client.end()`: it says goodbye first, and a server that is gone does not answer.
  const disconnect = (): void => {
    socket.destroy()
  }
  subscription.addEventListener('abort', disconnect)

  let reason: string | undefined
  const client = new pg.Client({
    connectionString: url,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MILLIS,
    query_timeout: CONNECT_TIMEOUT_MILLIS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MILLIS,
    stream: () => socket,
  })
  client.on('error', (error) => {
    // The first error is why; the ones after it say that the connection is gone.
    reason ??= error.message
  })
  client.on('notification', () => {
    if (!subscription.aborted) onChange()
  })
  try {
    // Not `events.once`, which also fails on 'error', and then perhaps with nobody waiting.
    const lost = new Promise((resolve) => client.once('end', resolve))
    await client.connect()
    await client.query(`listen ${CHANGES_CHANNEL}`)
    if (!subscription.aborted) onListening()
    await lost
  } catch (error) {
    reason ??= error instanceof Error ? error.message : String(error)
  } finally {
    subscription.removeEventListener('abort', disconnect)
    disconnect()
  }
  return reason ?? 'the server closed it'
}
