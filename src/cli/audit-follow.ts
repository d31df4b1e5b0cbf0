/**
 * `keyturn audit --follow`: prints events as they happen, and goes on where it stopped when the stream ends.
 */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type Client, Code, ConnectError } from '@connectrpc/connect'
import type {
  AuditService,
  FollowAuditEventsRequestSchema,
  FollowedAuditEvent,
} from '../../gen/iam/audit/v2/audit_service_pb.js'
import { backoffMillis } from '../domain/backoff.ts'
import { causeOfCall } from './api-error.ts'
import { ConnectionError } from './connection/connection-failure.ts'
import { describeFailure } from './failure.ts'
import type { Io } from './io.ts'
import { printableLines } from './printable.ts'
import { firstSignal } from './server/signals.ts'
import { TokenRefusal } from './token-request.ts'

const RETRY = { first: 500, longest: 15_000 }

/** The longest silence of a server, in milliseconds. It sends something four times as often. */
const SILENCE = 60_000

/** The ends of a stream after which another replica, or the same one later, goes on. */
const PASSING = [
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.Aborted,
  Code.Unknown,
  Code.Internal,
  Code.DeadlineExceeded,
]

/** Answers of a token endpoint that cannot answer now (RFC 6749 §4.1.2.1). */
const PASSING_REFUSALS = ['temporarily_unavailable', 'server_error']

/** What is followed, and how it is printed. */
export interface FollowOptions {
  readonly request: MessageInitShape<typeof FollowAuditEventsRequestSchema>
  /** The lines of an event. */
  readonly format: (followed: FollowedAuditEvent) => string
  /** Called once, when the server has accepted the request. */
  readonly onBegin: () => void
  /** Called with the position after the last event when it ends; not called without `onBegin`. */
  readonly onEnd: (position: string) => void
}

/** Prints events until the command is interrupted or the reader of the output is gone. @throws what ends the stream for good, such as a lost right. */
export async function followEvents(
  io: Io,
  client: Client<typeof AuditService>,
  { request, format, onBegin, onEnd }: FollowOptions,
): Promise<void> {
  const output = new AbortController()
  const onError = (error: Error) => output.abort(error)
  io.stdout.on('error', onError)
  const interrupted = new AbortController()
  void firstSignal().then(() => interrupted.abort())
  const signal = AbortSignal.any([output.signal, interrupted.signal])
  let position = request.afterPosition ?? ''
  const receive = async (onReceived: () => void) => {
    const silence = new AbortController()
    const end = () => silence.abort(new ConnectionError('the server has sent nothing for a minute'))
    let timer = setTimeout(end, SILENCE)
    try {
      for await (const { events, position: next } of client.followAuditEvents(
        { ...request, afterPosition: position },
        { signal: AbortSignal.any([signal, silence.signal]), timeoutMs: 0 },
      )) {
        // Printing may take long: that is no silence of the server.
        clearTimeout(timer)
        onReceived()
        for (const followed of events) {
          await write(io, `${format(followed)}\n`, signal)
          signal.throwIfAborted()
          position = followed.position
        }
        position = next
        timer = setTimeout(end, SILENCE)
      }
    } finally {
      clearTimeout(timer)
    }
  }
  const retries = new Retries()
  let hasBegun = false
  try {
    while (!signal.aborted) {
      try {
        await receive(() => {
          if (!hasBegun) onBegin()
          hasBegun = true
          retries.reset()
        })
      } catch (error) {
        if (signal.aborted) break
        if (position === '' || !retries.admits(error)) throw error
        if (retries.failures > 1) io.stderr.write(`${printableLines(describeFailure(error))}: trying again\n`)
      }
      await delay(retries.wait(), undefined, { signal }).catch(() => {})
    }
    // The reader of a pipe that is closed has what it wanted.
    if (output.signal.aborted && output.signal.reason.code !== 'EPIPE') throw output.signal.reason
  } finally {
    if (hasBegun) onEnd(position)
    io.stdout.off('error', onError)
  }
}

/** Whether and when to go on after a stream has ended. */
class Retries {
  #failures = 0
  #unauthenticated = 0

  /** In a row. */
  get failures(): number {
    return this.#failures
  }

  /** Something was received. */
  reset(): void {
    this.#failures = 0
    this.#unauthenticated = 0
  }

  /** Counts an error, after which it may make sense to go on. */
  admits(failure: unknown): boolean {
    this.#failures += 1
    const error = causeOfCall(failure)
    if (error instanceof ConnectionError) return true
    if (error instanceof TokenRefusal) return PASSING_REFUSALS.includes(error.code)
    if (!(error instanceof ConnectError)) return false
    if (PASSING.includes(error.code)) return true
    // Not of the API, which says what is wrong with an argument: the stream has no end.
    if (error.code === Code.InvalidArgument && error.details.length === 0) return true
    // A token that has expired is replaced for the next call.
    this.#unauthenticated += 1
    return error.code === Code.Unauthenticated && this.#unauthenticated === 1
  }

  /** In milliseconds. */
  wait(): number {
    return this.#failures === 0 ? 0 : backoffMillis(this.#failures, { ...RETRY, jitter: Math.random() / 2 })
  }
}

/** Waits for a slow reader, so that memory holds one event. */
async function write({ stdout }: Io, text: string, signal: AbortSignal): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain', { signal }).catch(() => {})
}
