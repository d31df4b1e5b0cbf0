/**
 * `keyturn keys rotate | revoke | schedule`: rotation out of turn, revocation after a leak, and the schedule.
 */
import { Command, InvalidArgumentError } from 'commander'
import { RotationStepKind } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import {
  GetRotationScheduleResponseSchema,
  RevokeWebKeyResponseSchema,
  RotateWebKeyResponseSchema,
  WebKeyService,
} from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { connect } from '../api-client.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { formatMoment, formatTable, timeLeft } from '../table.ts'
import { rotateAndWait } from './rotation-wait.ts'

const STEPS: Record<RotationStepKind, string> = {
  [RotationStepKind.UNSPECIFIED]: 'unknown',
  [RotationStepKind.CREATE]: 'a key is created and published',
  [RotationStepKind.ACTIVATE]: 'signs all new tokens',
  [RotationStepKind.DESTROY_PRIVATE_KEY]: 'its private key is destroyed',
  [RotationStepKind.DELETE]: 'is deleted',
}

/** `keyturn keys rotate`. */
export function rotateKeysCommand(io: Io): Command {
  return withRemoteOptions(new Command('rotate'))
    .description('Rotate now: the standby key takes over, or a new one as soon as verifiers know it.')
    .option('--wait', 'wait until the new key signs')
    .action(async (options: RemoteOptions & { readonly wait?: true }) => {
      const client = await connect(io, options, WebKeyService)
      const response = options.wait === true ? await rotateAndWait(io, client) : await client.rotateWebKey({})
      const { done, rotationDate, webKey } = response
      print(io, options, RotateWebKeyResponseSchema, response, () => {
        const key = webKey?.keyId ?? 'a key that is being created'
        if (done || rotationDate === undefined) return `rotated: ${key} signs all new tokens`
        return `${key} signs all new tokens from ${formatMoment(rotationDate)} on, when verifiers know it`
      })
    })
}

/** `keyturn keys revoke`. */
export function revokeKeyCommand(io: Io): Command {
  return withRemoteOptions(new Command('revoke'))
    .description('Stop trusting a key that has leaked, at once and for good. If it is active, another takes over.')
    .argument('<key-id>')
    .addOption(yesOption())
    .action(async (keyId: string, options: RemoteOptions & YesOption) => {
      const client = await connect(io, options, WebKeyService)
      await confirm(io, options, `Revoke the key ${keyId} for good? All tokens that it signed are refused then.`)
      const response = await client.revokeWebKey({ keyId })
      const { activeWebKey, trustedUntil } = response
      print(io, options, RevokeWebKeyResponseSchema, response, () =>
        [
          `revoked ${keyId}: tokens that it signed are refused`,
          ...(activeWebKey === undefined ? [] : [`${activeWebKey.keyId} signs all new tokens`]),
          ...(trustedUntil === undefined
            ? []
            : [`Verifiers that have copied the key set may accept them until ${formatMoment(trustedUntil)}.`]),
        ].join('\n'),
      )
    })
}

/** `keyturn keys schedule`. */
export function keyScheduleCommand(io: Io): Command {
  return withRemoteOptions(new Command('schedule'))
    .description('Print the scheduled steps of the rotation.')
    .option('--count <n>', 'how many steps, 1 to 100', parseCount, 10)
    .action(async ({ count, ...options }: RemoteOptions & { readonly count: number }) => {
      const response = await (await connect(io, options, WebKeyService)).getRotationSchedule({ count })
      print(io, options, GetRotationScheduleResponseSchema, response, (heading) => {
        if (response.steps.length === 0)
          return 'Nothing happens by itself: rotation is off, or there is no room for another key.'
        return formatTable(
          ['WHEN', 'IN', 'WHAT', 'KEY ID'],
          response.steps.map(({ date, kind, keyId }) => [
            date === undefined ? '' : formatMoment(date),
            timeLeft(date),
            STEPS[kind],
            keyId === '' ? 'to be created' : keyId,
          ]),
          heading,
        )
      })
    })
}

function parseCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 100) return count
  throw new InvalidArgumentError('Write a whole number, 1 to 100.')
}
