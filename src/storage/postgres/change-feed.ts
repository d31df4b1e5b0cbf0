/**
 * The `ChangeFeed` on a database: LISTEN on a connection of its own, opened again after a while when it is lost.
 *
 * A heartbeat with a timeout detects a connection that is cut silently. NOTIFY is still only a hint: the subscriber also
 * compares versions. A standby takes no LISTEN; it is asked again with each heartbeat, because it may be promoted.
 */
import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { messageOf } from '../../domain/errors.ts'
import { LogThrottle } from '../../domain/log-throttle.ts'
import type { ChangeFeed } from '../../domain/ports/instance.ts'
import { READ_ONLY_STATE } from './bounded-client.ts'
import {
  APPLICATION_NAME,
  assertReadableUrl,
  CONNECT_TIMEOUT_MILLIS,
  KEEP_ALIVE_DELAY_MILLIS,
  type PostgresOptions,
} from './postgres-pool.ts'
import { errorCodeOf } from './storage-errors.ts'

/** The NOTIFY channel on which a new version is announced. */
export const CHANGES_CHANNEL = 'keyturn_changes'

/** At least, and with jitter twice as long at most. Until then versions are compared. */
const RETRY_MILLIS = 1_000

const HEARTBEAT_MILLIS = 10_000

/** The heartbeat too: it is idempotent, and listens again if a proxy has switched the server connection. */
const LISTEN = `listen ${CHANGES_CHANNEL}`

export interface FeedTimes {
  /** Between heartbeats. Default 10 000. */
  readonly heartbeat?: number
  /** How long the response to a heartbeat may take. Default 5 000. */
  readonly timeout?: number
}

/**
 * The change feed; it is off with `poll`.
 *
 * It has one subscription at a time, which does not fail: a failed connect is logged and tried again until the subscription ends.
 * @throws {Error} if the URL cannot be read.
 */
export function createChangeFeed(options: PostgresOptions, times: FeedTimes = {}): ChangeFeed {
  if (options.changeFeed === 'poll') return { subscribe: () => async () => {}, status: () => 'off' }
  assertReadableUrl(options.url)
  let state: FeedState = 'off'
  return {
    subscribe: (onChange) => {
      const ending = new AbortController()
      state = 'disconnected'
      const onState = (now: FeedState) => {
        state = now
      }
      const ended = listenUntilEnded(options, ending.signal, { times, onChange, onState })
      return async () => {
        ending.abort()
        await ended
        state = 'off'
      }
    },
    status: () => state,
  }
}

type FeedState = ReturnType<ChangeFeed['status']>

interface Listening {
  readonly times: FeedTimes
  readonly onChange: () => void
  /** Called when a connection begins to listen, when it cannot because the server is a standby, and when it is lost. */
  readonly onState: (state: FeedState) => void
}

async function listenUntilEnded(
  { url, log }: PostgresOptions,
  subscription: AbortSignal,
  listening: Listening,
): Promise<void> {
  const throttle = new LogThrottle()
  while (!subscription.aborted) {
    const reason = await listenUntilLost(url, subscription, listening)
    listening.onState('disconnected')
    if (subscription.aborted) return
    if (throttle.admits(reason, performance.now())) {
      log.warn({ reason }, 'the database connection that announces changes was lost')
    }
    await delay(RETRY_MILLIS * (1 + Math.random()), undefined, { signal: subscription }).catch(() => {})
  }
}

/** Listens on one connection until it is lost, and returns why. */
async function listenUntilLost(
  url: string,
  subscription: AbortSignal,
  { times, onState, onChange }: Listening,
): Promise<string> {
  const socket = new Socket()
  const lost = new AbortController()
  // Not `client.end()`: it waits for the server to close, and a server that is gone does not.
  const disconnect = (): void => {
    lost.abort()
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
  client.once('end', () => {
    reason ??= 'the server closed it'
    disconnect()
  })
  client.on('notification', () => {
    if (!subscription.aborted) onChange()
  })
  try {
    await client.connect()
    for (let state: FeedState | undefined; ; ) {
      const now = await listenOn(client)
      if (now !== state && !lost.signal.aborted) {
        onState(now)
        // Something may have changed before.
        if (now === 'connected') onChange()
      }
      state = now
      await delay(times.heartbeat ?? HEARTBEAT_MILLIS, undefined, { signal: lost.signal })
    }
  } catch (error) {
    reason ??= messageOf(error)
  } finally {
    subscription.removeEventListener('abort', disconnect)
    disconnect()
  }
  return reason
}

/** A standby announces nothing (`off`). It may be promoted, and the connection stays. */
async function listenOn(client: pg.Client): Promise<FeedState> {
  try {
    await client.query(LISTEN)
    return 'connected'
  } catch (error) {
    if (errorCodeOf(error) !== READ_ONLY_STATE) throw error
    return 'off'
  }
}
