/**
 * `keyturn keys`: the keys that sign tokens, and the policy of their automatic rotation.
 */
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { WebKeyState } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import { call, type Declaration, group, list, namedFields } from '../commands.ts'
import { type Chosen, choice, durationOption, flag, option, UsageError, wholeNumber } from '../options.ts'
import { printWarnings } from '../output.ts'
import { formatMoment } from '../times.ts'
import { algorithmQuestion, assertOptionsOfKind, configOf, KIND_OPTIONS, KINDS } from './key-kind.ts'
import { rotateCommand } from './keys-rotate-command.ts'

const STATES_WITH_REVOKED = [WebKeyState.INITIAL, WebKeyState.ACTIVE, WebKeyState.INACTIVE, WebKeyState.REVOKED]

const { method: Methods } = WebKeyService

const SHOW_POLICY = call('show', Methods.getRotationPolicy, {
  description: 'Print the rotation policy.',
  text: 'fields',
})

const POLICY_OPTIONS = {
  rotation: choice('--rotation <switch>', 'whether keys rotate by themselves', ['on', 'off']),
  kind: choice('--kind <kind>', 'kind of key, with the options below', KINDS),
  ...KIND_OPTIONS,
  interval: durationOption('--interval', 'how long a key signs'),
  publishAhead: durationOption('--publish-ahead', 'how long before it signs a key is published'),
  retention: durationOption('--retention', 'how long after it has signed a key is published'),
  rollbackWindow: durationOption('--rollback-window', 'how long after it has signed a key can be activated again'),
  standby: choice('--standby <switch>', 'whether the next key is always published', ['on', 'off']),
}

const SET_POLICY = call('set', Methods.updateRotationPolicy, {
  description: 'Change the rotation policy: only what is named.',
  options: POLICY_OPTIONS,
  check(options) {
    assertOptionsOfKind(options.kind, options)
    if (policyFrom(options).updateMask.paths.length === 0) throw new UsageError('name what to change')
  },
  request(_, { options }) {
    const { fields: policy, updateMask } = policyFrom(options)
    return { policy, updateMask }
  },
  question: (_, { api, options }) => options.kind && algorithmQuestion(api, options.kind, options),
  text: 'fields',
})

function policyFrom(options: Chosen<typeof POLICY_OPTIONS>) {
  const { rotation, kind, interval, publishAhead, retention, rollbackWindow, standby } = options
  const time = (seconds: bigint | undefined) => (seconds === undefined ? undefined : { seconds })
  return namedFields({
    enabled: rotation && rotation === 'on',
    config: kind && configOf(kind, options),
    rotationInterval: time(interval),
    publishAhead: time(publishAhead),
    retention: time(retention),
    rollbackWindow: time(rollbackWindow),
    keepStandby: standby && standby === 'on',
  })
}

const POLICY: Declaration = (io) =>
  group(
    'policy',
    'Show or change how keys rotate by themselves.',
    [],
  )(io)
    .addCommand(SHOW_POLICY(io), { isDefault: true })
    .addCommand(SET_POLICY(io))

export const keysCommand = group('keys', '', [
  list(Methods.listWebKeys, 'webKeys', {
    description: 'List all keys, oldest first. What happens to each next is in "keyturn keys schedule".',
    options: { revoked: flag('--revoked', 'also list revoked keys') },
    request: (_, { options }) => ({ states: options.revoked === true ? STATES_WITH_REVOKED : [] }),
    columns: ['keyId', 'algorithm', 'state', 'creationDate'],
  }),
  call('create', Methods.createWebKey, {
    description: 'Create a key. It is published at once and signs when it is activated.',
    takes: { kind: { description: 'kind of key', choices: KINDS, fallback: 'rsa' } },
    options: KIND_OPTIONS,
    check: (options, { kind }) => assertOptionsOfKind(kind, options),
    request: ({ kind }, { options }) => ({ config: configOf(kind, options) }),
    question: ({ kind }, { api, options }) => algorithmQuestion(api, kind, options),
    text: ({ webKey }) => `created ${webKey?.keyId} (${webKey?.algorithm}), initial`,
  }),
  call('activate', Methods.activateWebKey, {
    description: 'Make a key sign all new tokens. The key that was active becomes inactive.',
    takes: { keyId: {} },
    async send(request, _, { io, api }) {
      const response = await api.call(Methods.activateWebKey, request)
      const { knownFrom } = response
      if (knownFrom !== undefined) printWarnings(io, [earlyActivationWarning(timestampDate(knownFrom))])
      return response
    },
    text: (_, { keyId }) => `activated ${keyId}: it signs all new tokens`,
  }),
  call('delete', Methods.deleteWebKey, {
    description: 'Delete an inactive key. Tokens that it signed stop being valid.',
    takes: { keyId: {} },
    question: ({ keyId }) => `Delete the key ${keyId}? Tokens that it signed, which may be in use, are refused then.`,
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
  list(Methods.getRotationSchedule, 'steps', {
    name: 'schedule',
    description: 'Print the scheduled steps of the rotation. Without any, nothing happens by itself.',
    options: {
      count: option<number>('--count <n>', 'how many steps, 1 to 100').argParser(wholeNumber(1, 100)).default(10),
    },
    request: (_, { options: { count } }) => ({ count }),
    columns: ['date', 'kind', 'keyId'],
  }),
  POLICY,
])
