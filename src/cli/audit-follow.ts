/**
 * `keyturn audit --follow`: prints events as they happen, and goes on where it stopped when the stream ends.
 */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import {
  AuditService,
  type FollowAuditEventsRequestSchema,
  type FollowedAuditEvent,
} from '../../gen/iam/audit/v2/audit_service_pb.js'
import { backoffMillis } from '../domain/backoff.ts'
import { type Api, causeOfCall } from './api.ts'
import { ConnectionError } from './connection/connection-failure.ts'
import { TokenRefusal } from './connection/token-request.ts'
import { describeFailure } from './failure.ts'
import type { Io } from './io.ts'
import { printableLines } from './output.ts'
import { firstSignal } from './server/signals.ts'

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
  Code.Unauthenticated,
]

/** Answers of a token endpoint that cannot answer now (RFC 6749 §4.1.2.1). */
const PASSING_REFUSALS = ['temporarily_unavailable', 'server_error']

/** What is followed, and how it is printed. */
interface FollowOptions {
  readonly request: MessageInitShape<typeof FollowAuditEventsRequestSchema>
  /** The lines of an event. */
  readonly format: (followed: FollowedAuditEvent) => Promise<string>
  /** Called once, when the server has accepted the request. */
  readonly onBegin: () => void
  /** Called with the position after the last event when it ends; not called without `onBegin`. */
  readonly onEnd: (position: string) => void
}

/** Prints events until the command is interrupted or the reader of the output is gone. @throws what ends the stream for good, such as a lost right. */
export async function followEvents(
  io: Io,
  { transport }: Api,
  { request, format, onBegin, onEnd }: FollowOptions,
): Promise<void> {
  const client = createClient(AuditService, transport)
  const output = new AbortController()
  const onError = (error: Error) => output.abort(error)
  io.stdout.on('error', onError)
  const interrupted = new AbortController()
  void firstSignal().then(() => interrupted.abort())
  const signal = AbortSignal.any([output.signal, interrupted.signal])
  let position = request.afterPosition ?? ''
  let hasBegun = false
  /** In a row. */
  let failures = 0
  let refusedTokens = 0
  const receive = async () => {
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
        if (!hasBegun) onBegin()
        hasBegun = true
        failures = 0
        refusedTokens = 0
        for (const followed of events) {
          await write(io, `${await format(followed)}\n`, signal)
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
  try {
    while (!signal.aborted) {
      try {
        await receive()
      } catch (error) {
        if (signal.aborted) break
        failures += 1
        if (error instanceof ConnectError && error.code === Code.Unauthenticated) refusedTokens += 1
        // A token that has expired is replaced for the next call.
        if (position === '' || refusedTokens > 1 || !isPassing(causeOfCall(error))) throw error
        if (failures > 1) io.stderr.write(`${printableLines(describeFailure(error))}: trying again\n`)
      }
      const wait = failures === 0 ? 0 : backoffMillis(failures, { ...RETRY, jitter: Math.random() / 2 })
      await delay(wait, undefined, { signal }).catch(() => {})
    }
    // The reader of a pipe that is closed has what it wanted.
    if (output.signal.aborted && output.signal.reason.code !== 'EPIPE') throw output.signal.reason
  } finally {
    if (hasBegun) onEnd(position)
    io.stdout.off('error', onError)
  }
}

/** Whether it makes sense to go on after an error. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  if (error instanceof TokenRefusal) return PASSING_REFUSALS.includes(error.code)
  if (!(error instanceof ConnectError)) return false
  // Not of the API, which says what is wrong with an argument: the stream has no end.
  return PASSING.includes(error.code) || (error.code === Code.InvalidArgument && error.details.length === 0)
}

/** Waits for a slow reader, so that memory holds one event. */
async function write({ stdout }: Io, text: string, signal: AbortSignal): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain', { signal }).catch(() => {})
}
