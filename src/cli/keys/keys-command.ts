/**
 * `keyturn keys`: the keys that sign tokens.
 */
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { InstanceService } from '../../../gen/iam/instance/v2/instance_service_pb.js'
import { type RotationStep, RotationStepKind } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import type { Api } from '../api.ts'
import { call, group } from '../commands.ts'
import { confirm } from '../confirm.ts'
import { flag, option, wholeNumber, yesOption } from '../options.ts'
import { printWarnings } from '../output.ts'
import { ageOf, formatMoment, timeLeft } from '../times.ts'
import { assertOptionsOfKind, confirmAlgorithm, KIND_OPTIONS, KINDS, type Kind, keyKindOf } from './key-kind.ts'
import { keyPolicyCommand } from './keys-policy-command.ts'
import { rotateCommand } from './keys-rotate-command.ts'

/** What a step does: to its key, in the column NEXT, and as the schedule says it. */
const STEPS: Record<RotationStepKind, readonly [effect: string, step: string]> = {
  [RotationStepKind.UNSPECIFIED]: ['unknown', 'unknown'],
  [RotationStepKind.CREATE]: ['created', 'a key is created and published'],
  [RotationStepKind.ACTIVATE]: ['signs', 'signs all new tokens'],
  [RotationStepKind.DESTROY_PRIVATE_KEY]: ['private key destroyed', 'its private key is destroyed'],
  [RotationStepKind.DELETE]: ['deleted', 'is deleted'],
}

/** How many steps of the schedule are read for the column NEXT. */
const STEPS_READ = 100

const STATES_WITH_REVOKED = [WebKeyState.INITIAL, WebKeyState.ACTIVE, WebKeyState.INACTIVE, WebKeyState.REVOKED]

const { method: Methods } = WebKeyService

/** The greatest lifetime of a token that a server can be configured with, in seconds. */
const GREATEST_LIFETIME = 86_400

export const keysCommand = group('keys', '', [
  call('list', Methods.listWebKeys, {
    description: 'List all keys, oldest first, and what happens to each next.',
    options: { revoked: flag('--revoked', 'also list revoked keys') },
    request: (_, { options }) => ({ states: options.revoked === true ? STATES_WITH_REVOKED : [] }),
    async text({ webKeys }, _, { api }) {
      const { steps } = await api.call(Methods.getRotationSchedule, { count: STEPS_READ })
      const rows = webKeys.map((key) => [
        key.keyId,
        key.algorithm,
        WebKeyState[key.state].toLowerCase(),
        ageOf(key.creationDate),
        nextOf(key, steps),
      ])
      return { heading: ['KEY ID', 'ALGORITHM', 'STATE', 'AGE', 'NEXT'], rows }
    },
  }),
  call('create', Methods.createWebKey, {
    description: 'Create a key. It is published at once and signs when it is activated.',
    takes: { kind: { description: 'kind of key', choices: KINDS, fallback: 'rsa' } },
    options: KIND_OPTIONS,
    check: (_, { kind }, command) => assertOptionsOfKind(command, kind as Kind),
    request: ({ kind }, { options }) => ({ config: keyKindOf(kind, options).config }),
    around: async ({ send }, { kind }, called) => await send(await confirmAlgorithm(kind, called, 'Create the key?')),
    text: ({ webKey }) => `created ${webKey?.keyId} (${webKey?.algorithm}), initial`,
  }),
  call('activate', Methods.activateWebKey, {
    description: 'Make a key sign all new tokens. The key that was active becomes inactive.',
    takes: { keyId: {} },
    async around({ send }, _, { io }) {
      const response = await send()
      const { knownFrom } = response
      if (knownFrom !== undefined) printWarnings(io, [earlyActivationWarning(timestampDate(knownFrom))])
      return response
    },
    text: ({ webKey }) => `activated ${webKey?.keyId}: it signs all new tokens`,
  }),
  call('delete', Methods.deleteWebKey, {
    description: 'Delete an inactive key. Tokens that it signed stop being valid.',
    takes: { keyId: {} },
    options: { yes: yesOption() },
    async around({ send }, { keyId }, { io, api, options }) {
      const until = await tokensLiveUntil(api, keyId)
      if (until !== undefined && until.getTime() > Date.now()) {
        const moment = formatMoment(timestampFromDate(until))
        printWarnings(io, [
          `tokens that the key signed may be in use until ${moment}: without it verifiers refuse them`,
        ])
      }
      await confirm(io, options, `Delete the key ${keyId}?`)
      return await send()
    },
  }),
  rotateCommand,
  call('revoke', Methods.revokeWebKey, {
    description: 'Stop trusting a key that has leaked, at once and for good. If it is active, another takes over.',
    takes: { keyId: {} },
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
  call('schedule', Methods.getRotationSchedule, {
    description: 'Print the scheduled steps of the rotation.',
    options: {
      count: option<number>('--count <n>', 'how many steps, 1 to 100').argParser(wholeNumber(1, 100)).default(10),
    },
    request: (_, { options: { count } }) => ({ count }),
    text({ steps }) {
      if (steps.length === 0) return 'Nothing happens by itself: rotation is off, or there is no room for another key.'
      const rows = steps.map(({ date, kind, keyId }) => [
        formatMoment(date),
        timeLeft(date),
        STEPS[kind][1],
        keyId === '' ? 'to be created' : keyId,
      ])
      return { heading: ['WHEN', 'IN', 'WHAT', 'KEY ID'], rows }
    },
  }),
  keyPolicyCommand,
])

/** When the last token expires that the key has signed. Undefined if it has signed none, signs now, or does not exist. */
async function tokensLiveUntil(api: Api, keyId: string): Promise<Date | undefined> {
  const { webKey } = await api.call(Methods.getWebKey, { keyId }).catch(() => ({ webKey: undefined }))
  if (webKey?.deactivationDate === undefined || webKey.revocationDate !== undefined) return undefined
  const { instance } = await api.call(InstanceService.method.getInstance, {}).catch(() => ({ instance: undefined }))
  const lifetime = instance?.settings.find(({ name }) => name === 'KEYTURN_TOKEN_LIFETIME')?.value
  return new Date(timestampDate(webKey.deactivationDate).getTime() + (Number(lifetime) || GREATEST_LIFETIME) * 1000)
}

/** The next step for a key. For the active key it is the activation of another one. */
function nextOf(key: WebKey, steps: readonly RotationStep[]): string {
  const isActive = key.state === WebKeyState.ACTIVE
  const step = isActive
    ? steps.find(({ kind }) => kind === RotationStepKind.ACTIVATE)
    : steps.find(({ keyId }) => keyId === key.keyId)
  if (step === undefined) return ''
  const what = isActive ? 'replaced' : STEPS[step.kind][0]
  const left = timeLeft(step.date)
  return left === '-' ? `${what} now` : `${what} in ${left}`
}
