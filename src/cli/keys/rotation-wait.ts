/**
 * Waits until a rotation that was asked for has happened, and shows how long that takes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { type WebKey, WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import {
  type RotateWebKeyResponse,
  RotateWebKeyResponseSchema,
  WebKeyService,
} from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { causeOfCall } from '../api-error.ts'
import { ConnectionError, connectionCode } from '../connection/connection-failure.ts'
import type { Io } from '../io.ts'
import { formatMoment, timeLeft } from '../table.ts'

/** How often the server is asked: before the rotation is due, and after that, in milliseconds. */
const POLL_BEFORE = 5_000
const POLL_AFTER = 250

/** How long after its date a rotation may happen, in milliseconds. */
const GRACE = 300_000

/** How often progress is printed where lines cannot be replaced, in milliseconds. */
const REPORT = 60_000

type WebKeys = Client<typeof WebKeyService>

/**
 * Rotates, and waits until another key signs. A server that cannot be reached for a while is waited for.
 *
 * @returns The response, as it is when the rotation has happened.
 * @throws {Error} if no other key signs 5 minutes after the date of the rotation.
 */
export async function rotateAndWait(io: Io, api: Transport): Promise<RotateWebKeyResponse> {
  const client = createClient(WebKeyService, api)
  const before = await activeKey(client)
  const requested = await client.rotateWebKey({})
  if (requested.done) return requested
  const webKey = await untilRotated(io, client, { before: before?.keyId, requested })
  const { activationDate } = webKey
  return create(RotateWebKeyResponseSchema, {
    done: true,
    webKey,
    ...(activationDate === undefined ? {} : { rotationDate: activationDate }),
  })
}

/** The rotation. */
interface RequestedRotation {
  /** The key that was active before it was asked for. */
  readonly before: string | undefined
  readonly requested: RotateWebKeyResponse
}

async function untilRotated(io: Io, client: WebKeys, { before, requested }: RequestedRotation): Promise<WebKey> {
  const { rotationDate } = requested
  const due = rotationDate === undefined ? Date.now() : timestampDate(rotationDate).getTime()
  const progress = openProgress(io, requested)
  let asked = 0
  for (;;) {
    const now = Date.now()
    if (now - asked >= (now < due ? POLL_BEFORE : POLL_AFTER)) {
      asked = now
      const key = await activeKey(client).catch(ignoringOutages)
      if (key !== undefined && key.keyId !== before) {
        progress.end()
        return key
      }
    }
    if (now > due + GRACE) {
      progress.end()
      throw new Error(
        'no other key signs, 5 minutes after the date of the rotation: "keyturn keys schedule" shows what happens next',
      )
    }
    progress.show(rotationDate)
    await delay(Math.min(now < due ? due - now : POLL_AFTER, 1000))
  }
}

async function activeKey(client: WebKeys): Promise<WebKey | undefined> {
  const { webKeys } = await client.listWebKeys({ states: [WebKeyState.ACTIVE] })
  return webKeys[0]
}

/** An outage is a server that says so, or a connection that failed. A refused token is none. */
function ignoringOutages(failure: unknown): undefined {
  const error = causeOfCall(failure)
  if (error instanceof ConnectionError && connectionCode(error) !== undefined) return
  if (!(error instanceof ConnectError) || error.code !== Code.Unavailable) throw error
}

interface Progress {
  show(rotationDate: Timestamp | undefined): void
  end(): void
}

/** At a terminal one line that changes, elsewhere a line now and then, on standard error. */
function openProgress(io: Io, { webKey, rotationDate }: RotateWebKeyResponse): Progress {
  const key = webKey?.keyId ?? 'a key that is being created'
  const replaces = io.terminals?.stderr === true && io.env.TERM !== 'dumb'
  const from = rotationDate === undefined ? '' : ` from ${formatMoment(rotationDate)} on, when verifiers know it`
  io.stderr.write(`${key} signs all new tokens${from}\n`)
  let reported = Date.now()
  return {
    show(date) {
      const left = date === undefined || timeLeft(date) === '-' ? 'any moment now' : `${timeLeft(date)} left`
      if (replaces) io.stderr.write(`\r\u001b[Kwaiting: ${left}`)
      else if (Date.now() - reported >= REPORT) {
        reported = Date.now()
        io.stderr.write(`waiting: ${left}\n`)
      }
    },
    end() {
      if (replaces) io.stderr.write('\r\u001b[K')
    },
  }
}
