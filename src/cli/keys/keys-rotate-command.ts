/**
 * `keyturn keys rotate`, which can wait until the rotation has happened.
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
import { flag } from '../options.ts'
import { formatMoment } from '../times.ts'

const POLL = 1_000

/** How long after its date a rotation may happen, in milliseconds. */
const GRACE = 300_000

const { method: Methods } = WebKeyService

export const rotateCommand = call('rotate', Methods.rotateWebKey, {
  description: 'Rotate now: the standby key takes over, or a new one as soon as verifiers know it.',
  options: { wait: flag('--wait', 'wait until the new key signs') },
  async send(request, _, { io, api, options }) {
    const before = options.wait === true ? await activeKey(api) : undefined
    const requested = await api.call(Methods.rotateWebKey, request)
    if (options.wait !== true || requested.done) return requested
    io.stderr.write(`${announcementOf(requested)}\n`)
    return await rotated(api, before?.keyId, requested)
  },
  text: (response) => (response.done ? `rotated: ${keyOf(response)} signs all new tokens` : announcementOf(response)),
})

function keyOf({ webKey }: RotateWebKeyResponse): string {
  return webKey?.keyId ?? 'a key that is being created'
}

function announcementOf(response: RotateWebKeyResponse): string {
  return `${keyOf(response)} signs all new tokens from ${formatMoment(response.rotationDate)} on, when verifiers know it`
}

/**
 * Waits until another key signs than before the rotation was asked for. A server that cannot be reached for a while is waited for.
 *
 * @returns The response, as it is when the rotation has happened.
 * @throws {Error} if no other key signs 5 minutes after the date of the rotation.
 */
async function rotated(
  api: Api,
  before: string | undefined,
  { rotationDate }: RotateWebKeyResponse,
): Promise<RotateWebKeyResponse> {
  const due = rotationDate === undefined ? Date.now() : timestampDate(rotationDate).getTime()
  while (Date.now() <= due + GRACE) {
    const webKey = await activeKey(api).catch(ignoringOutages)
    if (webKey !== undefined && webKey.keyId !== before) {
      const { activationDate } = webKey
      const date = activationDate === undefined ? {} : { rotationDate: activationDate }
      return create(Methods.rotateWebKey.output, { done: true, webKey, ...date })
    }
    await delay(POLL)
  }
  throw new Error(
    'no other key signs, 5 minutes after the date of the rotation: "keyturn keys schedule" shows what happens next',
  )
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
