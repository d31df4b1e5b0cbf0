/**
 * The `ChangeFeed` on a database: LISTEN on a connection of its own, opened again whenever it is lost.
 *
 * A cut of which nobody is told is noticed too, because the server is asked now and then and must answer in time. Still
 * only a hint: who uses it also compares versions.
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

/** How often the server is asked whether it is still there. */
const HEARTBEAT_MILLIS = 10_000

/** To listen again changes nothing, so it does as the question too, and mends what a proxy may have mixed up. */
const LISTEN = `listen ${CHANGES_CHANNEL}`

/** How patient a feed is, in milliseconds. */
export interface FeedPatience {
  /** How often the server is asked whether it is still there. Default 10 000. */
  readonly heartbeat?: number
  /** How long it may take to answer. Default 5 000. */
  readonly answer?: number
}

/**
 * Announcements of changes, unless the options leave them out.
 *
 * Connecting never fails towards the subscriber; it is logged and tried again until the subscription ends.
 *
 * @throws {Error} if the URL cannot be read.
 */
export function createChangeFeed(options: PostgresOptions, patience: FeedPatience = {}): ChangeFeed {
  if (options.changeFeed === 'poll') return { subscribe: () => async () => {}, status: () => 'off' }
  assertReadableUrl(options.url)
  const subscriptions = new Set<{ listening: boolean }>()
  return {
    subscribe: (onChange) => {
      const ending = new AbortController()
      const subscription = { listening: false }
      subscriptions.add(subscription)
      const ended = listenUntilEnded(options, ending.signal, {
        patience,
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
  readonly patience: FeedPatience
  readonly onChange: () => void
  /** Told when a connection listens, and when it does not any more. */
  readonly onListening: (listening: boolean) => void
}

async function listenUntilEnded(
  { url, log }: PostgresOptions,
  subscription: AbortSignal,
  { patience, onChange, onListening }: Listening,
): Promise<void> {
  let throttle = new LogThrottle()
  let failures = 0
  while (!subscription.aborted) {
    const reason = await listenUntilLost(url, subscription, {
      patience,
      onChange,
      onListening: () => {
        failures = 0
        // What is lost from here on is another loss.
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

/** Listens on one connection for as long as it lasts, and returns why it does not any more. */
async function listenUntilLost(
  url: string,
  subscription: AbortSignal,
  { patience, onListening, onChange }: Omit<Listening, 'onListening'> & { readonly onListening: () => void },
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
    query_timeout: patience.answer ?? CONNECT_TIMEOUT_MILLIS,
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
    await client.query(LISTEN)
    if (!subscription.aborted) onListening()
    await askUntil(lost, client, patience.heartbeat ?? HEARTBEAT_MILLIS)
  } catch (error) {
    reason ??= error instanceof Error ? error.message : String(error)
  } finally {
    subscription.removeEventListener('abort', disconnect)
    disconnect()
  }
  return reason ?? 'the server closed it'
}

/** Asks the server now and then until the connection is lost. @throws {Error} if it does not answer in time. */
async function askUntil(lost: Promise<unknown>, client: pg.Client, everyMillis: number): Promise<void> {
  const ending = new AbortController()
  const isLost = lost.then(() => {
    ending.abort()
    return true
  })
  while (!(await Promise.race([isLost, delay(everyMillis, false, { signal: ending.signal }).catch(() => true)]))) {
    await client.query(LISTEN)
  }
}
