/**
 * The `ChangeFeed` on a database: LISTEN on a connection of its own, opened again with backoff and jitter when it is lost.
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
import { backoffMillis } from '../../domain/time.ts'
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

const RETRY = { first: 100, longest: 5_000 }

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
  /** Called with each heartbeat that was answered: the connection has lasted. */
  readonly onHeartbeat: () => void
}

async function listenUntilEnded(
  { url, log }: PostgresOptions,
  subscription: AbortSignal,
  { times, onChange, onState }: Omit<Listening, 'onHeartbeat'>,
): Promise<void> {
  let throttle = new LogThrottle()
  let failures = 0
  while (!subscription.aborted) {
    const reason = await listenUntilLost(url, subscription, {
      times,
      onChange,
      onState: (state) => {
        onState(state)
        if (state === 'connected') onChange()
      },
      onHeartbeat: () => {
        failures = 0
        // The next loss is another one.
        throttle = new LogThrottle()
      },
    })
    onState('disconnected')
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
  { times, onState, onHeartbeat, onChange }: Listening,
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
    let state: FeedState | undefined
    const listen = async (): Promise<void> => {
      const now = await listenOn(client)
      if (now === state || subscription.aborted) return
      state = now
      onState(now)
    }
    await listen()
    const beat = () => listen().then(onHeartbeat)
    await heartbeatUntil(lost, beat, times.heartbeat ?? HEARTBEAT_MILLIS)
  } catch (error) {
    reason ??= messageOf(error)
  } finally {
    subscription.removeEventListener('abort', disconnect)
    disconnect()
  }
  return reason ?? 'the server closed it'
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

/** Listens again and again until the connection is lost. @throws {Error} if that times out. */
async function heartbeatUntil(lost: Promise<unknown>, beat: () => Promise<void>, everyMillis: number): Promise<void> {
  const ending = new AbortController()
  const { signal } = ending
  // Not `Promise.race`: each race would stay in memory for as long as the connection.
  void lost.then(() => ending.abort())
  while (true) {
    await delay(everyMillis, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    await beat()
  }
}
