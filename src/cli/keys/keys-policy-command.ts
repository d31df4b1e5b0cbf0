/**
 * `keyturn keys policy show | set`: the policy of automatic rotation.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Option } from 'commander'
import type { RotationPolicy, RotationPolicySchema } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { call, type Declaration, group } from '../api-command.ts'
import { refusalReasonOf, withMessage } from '../api-error.ts'
import { formatFields } from '../table.ts'
import { durationOption, formatDuration, formatSeconds } from '../when.ts'
import {
  assertOptionsOfKind,
  configOf,
  confirmAlgorithm,
  formatKind,
  KIND_OPTIONS,
  KINDS,
  type Kind,
  type KindOptions,
} from './key-kind.ts'

interface SetOptions extends KindOptions {
  readonly rotation?: 'on' | 'off'
  readonly kind?: Kind
  readonly interval?: bigint
  readonly publishAhead?: bigint
  readonly retention?: bigint
  readonly rollbackWindow?: bigint
  readonly standby?: 'on' | 'off'
}

const { method: Methods } = WebKeyService

const SHOW = call({
  name: 'show',
  description: 'Print the rotation policy.',
  method: Methods.getRotationPolicy,
  text: ({ policy }) => describe(policy),
})

const SET = call({
  name: 'set',
  description: 'Change the rotation policy: only what is named.',
  options: [
    new Option('--rotation <switch>', 'whether keys rotate by themselves').choices(['on', 'off']),
    new Option('--kind <kind>', 'kind of key, with the options below').choices(KINDS),
    ...KIND_OPTIONS,
    durationOption('--interval', 'how long a key signs'),
    durationOption('--publish-ahead', 'how long before it signs a key is published'),
    durationOption('--retention', 'how long after it has signed a key is published'),
    durationOption('--rollback-window', 'how long after it has signed a key can be activated again'),
    new Option('--standby <switch>', 'whether the next key is always published').choices(['on', 'off']),
  ],
  check(options: SetOptions, command) {
    assertOptionsOfKind(command, options.kind)
    if (changesOf(options).paths.length === 0) command.error('error: name what to change')
  },
  method: Methods.updateRotationPolicy,
  request(_, { options }: { readonly options: SetOptions }) {
    const { policy, paths } = changesOf(options)
    return { policy, updateMask: { paths } }
  },
  warn: async (_, called) =>
    called.options.kind === undefined ? [] : await confirmAlgorithm(called.options.kind, called, 'Change the policy?'),
  reword: inOptions,
  text: ({ policy }) => describe(policy),
})

/** The group of commands. */
export const keyPolicyCommand: Declaration = (io) =>
  group(
    'policy',
    'Show or change how keys rotate by themselves.',
    [],
  )(io)
    .addCommand(SHOW(io), { isDefault: true })
    .addCommand(SET(io))

function changesOf(options: SetOptions): { policy: MessageInitShape<typeof RotationPolicySchema>; paths: string[] } {
  const { rotation, kind, interval, publishAhead, retention, rollbackWindow, standby } = options
  const seconds = (value: bigint | undefined) => (value === undefined ? undefined : { seconds: value })
  const changes = {
    enabled: rotation === undefined ? undefined : rotation === 'on',
    config: kind === undefined ? undefined : configOf(kind, options),
    rotationInterval: seconds(interval),
    publishAhead: seconds(publishAhead),
    retention: seconds(retention),
    rollbackWindow: seconds(rollbackWindow),
    keepStandby: standby === undefined ? undefined : standby === 'on',
  }
  const named = Object.entries(changes).filter(([, value]) => value !== undefined)
  return {
    policy: Object.fromEntries(named),
    paths: named.map(([field]) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  }
}

/** The options by the field of the API that each sets. */
const OPTIONS: Readonly<Record<string, string>> = {
  rotation_interval: '--interval',
  publish_ahead: '--publish-ahead',
  retention: '--retention',
  rollback_window: '--rollback-window',
}

/** A refusal of the policy in the words of the command: with its options, and times as they take them. */
function inOptions(error: unknown): unknown {
  if (refusalReasonOf(error) !== 'ROTATION_POLICY_INVALID') return error
  return withMessage(error, (message) =>
    message
      .replace(/\b(?:rotation_interval|publish_ahead|retention|rollback_window)\b/g, (field) => OPTIONS[field] ?? field)
      .replace(/\b(\d+) s\b/g, (_, seconds: string) => formatSeconds(BigInt(seconds))),
  )
}

function describe(policy: RotationPolicy | undefined): string {
  if (policy === undefined) return ''
  return formatFields([
    ['rotation', policy.enabled ? 'on' : 'off'],
    ['kind', formatKind(policy.config)],
    ['interval', formatDuration(policy.rotationInterval)],
    ['publish ahead', formatDuration(policy.publishAhead)],
    ['retention', formatDuration(policy.retention)],
    ['rollback window', formatDuration(policy.rollbackWindow)],
    ['standby', policy.keepStandby ? 'on' : 'off'],
  ])
}
