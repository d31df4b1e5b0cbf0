/**
 * The `ChangeFeed` on a database: LISTEN on a connection of its own, opened again with backoff and jitter when it is lost.
 *
 * A heartbeat with a timeout detects a connection that is cut silently. NOTIFY is still only a hint: the subscriber also
 * compares versions.
 */
import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { backoffMillis } from '../../domain/backoff.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { ChangeFeed } from '../../domain/ports.ts'
import { CHANGES_CHANNEL } from '../instance/instance-row.ts'
import {
  APPLICATION_NAME,
  assertReadableUrl,
  CONNECT_TIMEOUT_MILLIS,
  KEEP_ALIVE_DELAY_MILLIS,
  type PostgresOptions,
} from './postgres-pool.ts'

const RETRY = { first: 100, longest: 5_000 }

/** Time between heartbeats. */
const HEARTBEAT_MILLIS = 10_000

/** The heartbeat too: it is idempotent, and listens again if a proxy has switched the server connection. */
const LISTEN = `listen ${CHANGES_CHANNEL}`

/** The times of a feed, in milliseconds. */
export interface FeedTimes {
  /** Between heartbeats. Default 10 000. */
  readonly heartbeat?: number
  /** How long the response to a heartbeat may take. Default 5 000. */
  readonly timeout?: number
}

/**
 * The change feed; it is off with `poll`.
 *
 * A subscription does not fail: a failed connect is logged and tried again until the subscription ends.
 *
 * @throws {Error} if the URL cannot be read.
 */
export function createChangeFeed(options: PostgresOptions, times: FeedTimes = {}): ChangeFeed {
  if (options.changeFeed === 'poll') return { subscribe: () => async () => {}, status: () => 'off' }
  assertReadableUrl(options.url)
  const subscriptions = new Set<{ listening: boolean }>()
  return {
    subscribe: (onChange) => {
      const ending = new AbortController()
      const subscription = { listening: false }
      subscriptions.add(subscription)
      const ended = listenUntilEnded(options, ending.signal, {
        times,
        onChange,
        onListening: (listening) => {
          subscription.listening = listening
        },
      })
      return async () => {
        ending.abort()
        subscriptions.delete(subscription)
        await ended
      }
    },
    status: () => {
      if (subscriptions.size === 0) return 'off'
      return [...subscriptions].every(({ listening }) => listening) ? 'connected' : 'disconnected'
    },
  }
}

interface Listening {
  readonly times: FeedTimes
  readonly onChange: () => void
  /** Called when a connection begins to listen, and when it is lost. */
  readonly onListening: (listening: boolean) => void
}

async function listenUntilEnded(
  { url, log }: PostgresOptions,
  subscription: AbortSignal,
  { times, onChange, onListening }: Listening,
): Promise<void> {
  let throttle = new LogThrottle()
  let failures = 0
  while (!subscription.aborted) {
    const reason = await listenUntilLost(url, subscription, {
      times,
      onChange,
      onListening: () => {
        failures = 0
        // The next loss is another one.
        throttle = new LogThrottle()
        onListening(true)
        onChange()
      },
    })
    onListening(false)
    if (subscription.aborted) return
    if (throttle.admits(reason, performance.now())) {
      log.warn({ reason }, 'the database connection that announces changes was lost')
    }
    failures += 1
    const wait = backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 })
    await delay(wait, undefined, { signal: subscription }).catch(() => {})
  }
}

/** Listens on one connection until it is lost, and returns why. */
async function listenUntilLost(
  url: string,
  subscription: AbortSignal,
  { times, onListening, onChange }: Omit<Listening, 'onListening'> & { readonly onListening: () => void },
): Promise<string> {
  const socket = new Socket()
  // Not `client.end()`: it waits for the server to close, and a server that is gone does not.
  const disconnect = (): void => {
    socket.destroy()
  }
  subscription.addEventListener('abort', disconnect)

  let reason: string | undefined
  const client = new pg.Client({
    connectionString: url,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MILLIS,
    query_timeout: times.timeout ?? CONNECT_TIMEOUT_MILLIS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MILLIS,
    stream: () => socket,
  })
  client.on('error', (error) => {
    // The first error is the cause; later ones only say that the connection is gone.
    reason ??= error.message
  })
  client.on('notification', () => {
    if (!subscription.aborted) onChange()
  })
  try {
    // Not `events.once`: it also rejects on 'error', which would be unhandled.
    const lost = new Promise((resolve) => client.once('end', resolve))
    await client.connect()
    await client.query(LISTEN)
    if (!subscription.aborted) onListening()
    await heartbeatUntil(lost, client, times.heartbeat ?? HEARTBEAT_MILLIS)
  } catch (error) {
    reason ??= error instanceof Error ? error.message : String(error)
  } finally {
    subscription.removeEventListener('abort', disconnect)
    disconnect()
  }
  return reason ?? 'the server closed it'
}

/** Sends heartbeats until the connection is lost. @throws {Error} if one times out. */
async function heartbeatUntil(lost: Promise<unknown>, client: pg.Client, everyMillis: number): Promise<void> {
  const ending = new AbortController()
  const { signal } = ending
  // Not `Promise.race`: each race would stay in memory for as long as the connection.
  void lost.then(() => ending.abort())
  while (true) {
    await delay(everyMillis, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    await client.query(LISTEN)
  }
}
