/**
 * `keyturn keys rotate`, which can wait until the rotation has happened, and shows how long that takes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { type WebKey, WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { type RotateWebKeyResponse, WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import type { Api } from '../api.ts'
import { call } from '../commands.ts'
import { ConnectionError, connectionCode } from '../connection/connection-failure.ts'
import type { Io } from '../io.ts'
import { flag } from '../options.ts'
import { formatMoment, timeLeft } from '../times.ts'

const POLL = 1_000

/** How long after its date a rotation may happen, in milliseconds. */
const GRACE = 300_000

/** How often progress is printed where lines cannot be replaced, in milliseconds. */
const REPORT = 60_000

const { method: Methods } = WebKeyService

export const rotateCommand = call('rotate', Methods.rotateWebKey, {
  description: 'Rotate now: the standby key takes over, or a new one as soon as verifiers know it.',
  options: { wait: flag('--wait', 'wait until the new key signs') },
  async around({ send }, _, { io, api, options }) {
    if (options.wait !== true) return await send()
    const before = await activeKey(api)
    const requested = await send()
    return requested.done ? requested : await rotated(io, api, { before: before?.keyId, requested })
  },
  text: (response) =>
    response.done || response.rotationDate === undefined
      ? `rotated: ${keyOf(response)} signs all new tokens`
      : announcementOf(response),
})

function keyOf({ webKey }: RotateWebKeyResponse): string {
  return webKey?.keyId ?? 'a key that is being created'
}

function announcementOf(response: RotateWebKeyResponse): string {
  const { rotationDate } = response
  const from = rotationDate === undefined ? '' : ` from ${formatMoment(rotationDate)} on, when verifiers know it`
  return `${keyOf(response)} signs all new tokens${from}`
}

/** What is waited for: another active key than before the rotation was asked for. */
interface Requested {
  readonly before: string | undefined
  readonly requested: RotateWebKeyResponse
}

/**
 * Waits until another key signs. A server that cannot be reached for a while is waited for.
 *
 * @returns The response, as it is when the rotation has happened.
 * @throws {Error} if no other key signs 5 minutes after the date of the rotation.
 */
async function rotated(io: Io, api: Api, { before, requested }: Requested): Promise<RotateWebKeyResponse> {
  const { rotationDate } = requested
  const due = rotationDate === undefined ? Date.now() : timestampDate(rotationDate).getTime()
  const replacesLine = io.terminals?.stderr === true && io.env.TERM !== 'dumb'
  io.stderr.write(`${announcementOf(requested)}\n`)
  let reported = Date.now()
  try {
    for (;;) {
      const webKey = await activeKey(api).catch(ignoringOutages)
      if (webKey !== undefined && webKey.keyId !== before) {
        const { activationDate } = webKey
        const date = activationDate === undefined ? {} : { rotationDate: activationDate }
        return create(Methods.rotateWebKey.output, { done: true, webKey, ...date })
      }
      const now = Date.now()
      if (now > due + GRACE) {
        throw new Error(
          'no other key signs, 5 minutes after the date of the rotation: "keyturn keys schedule" shows what happens next',
        )
      }
      const waiting = `waiting: ${now < due ? `${timeLeft(rotationDate)} left` : 'any moment now'}`
      if (replacesLine) io.stderr.write(`\r\u001b[K${waiting}`)
      else if (now - reported >= REPORT) {
        reported = now
        io.stderr.write(`${waiting}\n`)
      }
      await delay(POLL)
    }
  } finally {
    if (replacesLine) io.stderr.write('\r\u001b[K')
  }
}

async function activeKey(api: Api): Promise<WebKey | undefined> {
  const { webKeys } = await api.call(Methods.listWebKeys, { states: [WebKeyState.ACTIVE] })
  return webKeys[0]
}

/** An outage is a server that says so, or a connection that failed. A refused token is none. */
function ignoringOutages(error: unknown): undefined {
  if (error instanceof ConnectionError && connectionCode(error) !== undefined) return
  if (!(error instanceof ConnectError) || error.code !== Code.Unavailable) throw error
}
