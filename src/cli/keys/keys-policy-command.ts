/**
 * `keyturn keys policy show | set`: the policy of automatic rotation.
 */
import type { RotationPolicy } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { rewording } from '../api.ts'
import { call, type Declaration, group, namedFields } from '../commands.ts'
import { type Chosen, option, UsageError } from '../options.ts'
import { formatFields } from '../output.ts'
import { durationOption, formatDuration } from '../times.ts'
import {
  assertOptionsOfKind,
  confirmAlgorithm,
  formatKind,
  KIND_OPTIONS,
  KINDS,
  type Kind,
  keyKindOf,
} from './key-kind.ts'

type Switch = 'on' | 'off' | undefined

const { method: Methods } = WebKeyService

const SHOW = call('show', Methods.getRotationPolicy, {
  description: 'Print the rotation policy.',
  text: ({ policy }) => describe(policy),
})

const SET_OPTIONS = {
  rotation: option<Switch>('--rotation <switch>', 'whether keys rotate by themselves').choices(['on', 'off']),
  kind: option<Kind | undefined>('--kind <kind>', 'kind of key, with the options below').choices(KINDS),
  ...KIND_OPTIONS,
  interval: durationOption('--interval', 'how long a key signs'),
  publishAhead: durationOption('--publish-ahead', 'how long before it signs a key is published'),
  retention: durationOption('--retention', 'how long after it has signed a key is published'),
  rollbackWindow: durationOption('--rollback-window', 'how long after it has signed a key can be activated again'),
  standby: option<Switch>('--standby <switch>', 'whether the next key is always published').choices(['on', 'off']),
}

const SET = call('set', Methods.updateRotationPolicy, {
  description: 'Change the rotation policy: only what is named.',
  options: SET_OPTIONS,
  check(options, _, command) {
    assertOptionsOfKind(command, options.kind)
    if (changesOf(options).updateMask.paths.length === 0) throw new UsageError('name what to change')
  },
  request(_, { options }) {
    const { fields: policy, updateMask } = changesOf(options)
    return { policy, updateMask }
  },
  async around({ send }, _, called) {
    const { kind } = called.options
    const warned = kind === undefined ? [] : await confirmAlgorithm(kind, called, 'Change the policy?')
    return await rewording(send(warned), inOptions)
  },
  text: ({ policy }) => describe(policy),
})

export const keyPolicyCommand: Declaration = (io) =>
  group(
    'policy',
    'Show or change how keys rotate by themselves.',
    [],
  )(io)
    .addCommand(SHOW(io), { isDefault: true })
    .addCommand(SET(io))

function changesOf(options: Chosen<typeof SET_OPTIONS>) {
  const { rotation, kind, interval, publishAhead, retention, rollbackWindow, standby } = options
  const time = (seconds: bigint | undefined) => (seconds === undefined ? undefined : { seconds })
  return namedFields({
    enabled: rotation && rotation === 'on',
    config: kind && keyKindOf(kind, options).config,
    rotationInterval: time(interval),
    publishAhead: time(publishAhead),
    retention: time(retention),
    rollbackWindow: time(rollbackWindow),
    keepStandby: standby && standby === 'on',
  })
}

/** A refusal of the policy in the words of the command: with its options, and times as they take them. */
function inOptions(reason: string, message: string): string | undefined {
  if (reason !== 'ROTATION_POLICY_INVALID') return undefined
  const optionOf = (field: string) => `--${field.replace('rotation_', '').replaceAll('_', '-')}`
  return message
    .replace(/\b(?:rotation_interval|publish_ahead|retention|rollback_window)\b/g, optionOf)
    .replace(/\b(\d+) s\b/g, (_, seconds: string) => formatDuration({ seconds: BigInt(seconds) }))
}

function describe(policy: RotationPolicy | undefined): string {
  if (policy === undefined) return ''
  return formatFields([
    ['rotation', policy.enabled ? 'on' : 'off'],
    ['kind', policy.config === undefined ? '' : formatKind(policy.config)],
    ['interval', formatDuration(policy.rotationInterval)],
    ['publish ahead', formatDuration(policy.publishAhead)],
    ['retention', formatDuration(policy.retention)],
    ['rollback window', formatDuration(policy.rollbackWindow)],
    ['standby', policy.keepStandby ? 'on' : 'off'],
  ])
}
