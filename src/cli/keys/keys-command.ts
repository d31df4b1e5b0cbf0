/**
 * `keyturn keys`: the keys that sign tokens.
 */
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Command, InvalidArgumentError, Option } from 'commander'
import { type RotationStep, RotationStepKind } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { RotateWebKeyResponseSchema, WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import { openApi } from '../api-client.ts'
import { call, group, invoke, print } from '../api-command.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { printWarnings } from '../output.ts'
import { ageOf, formatMoment, formatTable, timeLeft } from '../table.ts'
import {
  assertOptionsOfKind,
  configOf,
  confirmAlgorithm,
  KIND_OPTIONS,
  KINDS,
  type Kind,
  type KindOptions,
} from './key-kind.ts'
import { deleteKeyCommand } from './keys-delete-command.ts'
import { keyPolicyCommand } from './keys-policy-command.ts'
import { rotateAndWait } from './rotation-wait.ts'

/** The effect of a step on its key, in the column NEXT. */
const EFFECTS: Record<RotationStepKind, string> = {
  [RotationStepKind.UNSPECIFIED]: 'unknown',
  [RotationStepKind.CREATE]: 'created',
  [RotationStepKind.ACTIVATE]: 'signs',
  [RotationStepKind.DESTROY_PRIVATE_KEY]: 'private key destroyed',
  [RotationStepKind.DELETE]: 'deleted',
}

/** A step in the schedule. */
const STEPS: Record<RotationStepKind, string> = {
  [RotationStepKind.UNSPECIFIED]: 'unknown',
  [RotationStepKind.CREATE]: 'a key is created and published',
  [RotationStepKind.ACTIVATE]: 'signs all new tokens',
  [RotationStepKind.DESTROY_PRIVATE_KEY]: 'its private key is destroyed',
  [RotationStepKind.DELETE]: 'is deleted',
}

/** How many steps of the schedule are read for the column NEXT. */
const STEPS_READ = 100

const STATES_WITH_REVOKED = [WebKeyState.INITIAL, WebKeyState.ACTIVE, WebKeyState.INACTIVE, WebKeyState.REVOKED]

const { method: Methods } = WebKeyService

/** The group of commands. */
export const keysCommand = group('keys', '', [
  call({
    name: 'list',
    description: 'List all keys, oldest first, and what happens to each next.',
    options: [new Option('--revoked', 'also list revoked keys')],
    method: Methods.listWebKeys,
    request: (_, { options }: { readonly options: { readonly revoked?: true } }) => ({
      states: options.revoked === true ? STATES_WITH_REVOKED : [],
    }),
    async text({ webKeys }, _, { api, heading }) {
      const { steps } = await invoke(api, Methods.getRotationSchedule, { count: STEPS_READ })
      const rows = webKeys.map((key) => [
        key.keyId,
        key.algorithm,
        WebKeyState[key.state].toLowerCase(),
        ageOf(key.creationDate),
        nextOf(key, steps),
      ])
      return formatTable(['KEY ID', 'ALGORITHM', 'STATE', 'AGE', 'NEXT'], rows, heading)
    },
  }),
  call({
    name: 'create',
    description: 'Create a key. It is published at once and signs when it is activated.',
    takes: { kind: { description: 'kind of key', choices: KINDS, fallback: 'rsa' } },
    options: KIND_OPTIONS,
    check: (_options: KindOptions, command, { kind }) => assertOptionsOfKind(command, kind as Kind),
    method: Methods.createWebKey,
    request: ({ kind }, { options }) => ({ config: configOf(kind, options) }),
    warn: ({ kind }, called) => confirmAlgorithm(kind, called, 'Create the key?'),
    text: ({ webKey }) => `created ${webKey?.keyId} (${webKey?.algorithm}), initial`,
  }),
  call({
    name: 'activate',
    description: 'Make a key sign all new tokens. The key that was active becomes inactive.',
    takes: { keyId: {} },
    method: Methods.activateWebKey,
    async finish({ knownFrom }, _, { io }) {
      if (knownFrom !== undefined) printWarnings(io, [earlyActivationWarning(timestampDate(knownFrom))])
      return undefined
    },
    text: ({ webKey }) => `activated ${webKey?.keyId}: it signs all new tokens`,
  }),
  deleteKeyCommand,
  rotateCommand,
  call({
    name: 'revoke',
    description: 'Stop trusting a key that has leaked, at once and for good. If it is active, another takes over.',
    takes: { keyId: {} },
    method: Methods.revokeWebKey,
    question: ({ keyId }) => `Revoke the key ${keyId} for good? All tokens that it signed are refused then.`,
    text: ({ activeWebKey, trustedUntil }, { keyId }) =>
      [
        `revoked ${keyId}: tokens that it signed are refused`,
        ...(activeWebKey === undefined ? [] : [`${activeWebKey.keyId} signs all new tokens`]),
        ...(trustedUntil === undefined
          ? []
          : [`Verifiers that have copied the key set may accept them until ${formatMoment(trustedUntil)}.`]),
      ].join('\n'),
  }),
  call({
    name: 'schedule',
    description: 'Print the scheduled steps of the rotation.',
    options: [new Option('--count <n>', 'how many steps, 1 to 100').argParser(parseCount).default(10)],
    method: Methods.getRotationSchedule,
    request: (_, { options }: { readonly options: { readonly count: number } }) => ({ count: options.count }),
    text({ steps }, _, { heading }) {
      if (steps.length === 0) return 'Nothing happens by itself: rotation is off, or there is no room for another key.'
      const rows = steps.map(({ date, kind, keyId }) => [
        date === undefined ? '' : formatMoment(date),
        timeLeft(date),
        STEPS[kind],
        keyId === '' ? 'to be created' : keyId,
      ])
      return formatTable(['WHEN', 'IN', 'WHAT', 'KEY ID'], rows, heading)
    },
  }),
  keyPolicyCommand,
])

function rotateCommand(io: Io): Command {
  return withRemoteOptions(new Command('rotate'))
    .description('Rotate now: the standby key takes over, or a new one as soon as verifiers know it.')
    .option('--wait', 'wait until the new key signs')
    .action(async (options: RemoteOptions & { readonly wait?: true }) => {
      const api = await openApi(io, options)
      const response =
        options.wait === true ? await rotateAndWait(io, api) : await invoke(api, Methods.rotateWebKey, {})
      const { done, rotationDate, webKey } = response
      await print({ io, options }, RotateWebKeyResponseSchema, response, () => {
        const key = webKey?.keyId ?? 'a key that is being created'
        if (done || rotationDate === undefined) return `rotated: ${key} signs all new tokens`
        return `${key} signs all new tokens from ${formatMoment(rotationDate)} on, when verifiers know it`
      })
    })
}

function parseCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 100) return count
  throw new InvalidArgumentError('Write a whole number, 1 to 100.')
}

/** The next step for a key. For the active key it is the activation of another one. */
function nextOf(key: WebKey, steps: readonly RotationStep[]): string {
  const isActive = key.state === WebKeyState.ACTIVE
  const step = isActive
    ? steps.find(({ kind }) => kind === RotationStepKind.ACTIVATE)
    : steps.find(({ keyId }) => keyId === key.keyId)
  if (step === undefined) return ''
  const what = isActive ? 'replaced' : EFFECTS[step.kind]
  const left = timeLeft(step.date)
  return left === '-' ? `${what} now` : `${what} in ${left}`
}
