/**
 * `keyturn keys policy show | set`: the policy of automatic rotation.
 */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Command, Option } from 'commander'
import type { RotationPolicy, RotationPolicySchema } from '../../../gen/iam/webkey/v2/rotation_pb.js'
import {
  GetRotationPolicyResponseSchema,
  UpdateRotationPolicyResponseSchema,
  WebKeyService,
} from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { connect } from '../api-client.ts'
import { refusalReasonOf, withMessage } from '../api-error.ts'
import { type YesOption, yesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { printWarnings } from '../output.ts'
import { print } from '../print.ts'
import { formatFields } from '../table.ts'
import { durationOption, formatDuration, formatSeconds } from '../when.ts'
import {
  algorithmOfKind,
  assertOptionsOfKind,
  formatKind,
  givenOptions,
  KINDS,
  type Kind,
  type KindOptions,
  kindOf,
  withKindOptions,
} from './key-kind.ts'
import { confirmNewKind, NEW_KIND_YES } from './new-kind.ts'

interface SetOptions extends RemoteOptions, KindOptions, YesOption {
  readonly rotation?: 'on' | 'off'
  readonly kind?: Kind
  readonly interval?: bigint
  readonly publishAhead?: bigint
  readonly retention?: bigint
  readonly rollbackWindow?: bigint
  readonly standby?: 'on' | 'off'
}

/** The group of commands. */
export function keyPolicyCommand(io: Io): Command {
  const policy = new Command('policy').description('Show or change how keys rotate by themselves.')
  policy.addCommand(showCommand(io), { isDefault: true })
  policy.addCommand(setCommand(io))
  return policy
}

function showCommand(io: Io): Command {
  return withRemoteOptions(new Command('show'))
    .description('Print the rotation policy.')
    .action(async (options: RemoteOptions) => {
      const response = await (await connect(io, options, WebKeyService)).getRotationPolicy({})
      print(io, options, GetRotationPolicyResponseSchema, response, () => describe(response.policy))
    })
}

function setCommand(io: Io): Command {
  return withKindOptions(withRemoteOptions(new Command('set')))
    .description('Change the rotation policy: only what is named.')
    .addOption(new Option('--rotation <switch>', 'whether keys rotate by themselves').choices(['on', 'off']))
    .addOption(new Option('--kind <kind>', 'kind of key, with the options below').choices(KINDS))
    .addOption(durationOption('--interval', 'how long a key signs'))
    .addOption(durationOption('--publish-ahead', 'how long before it signs a key is published'))
    .addOption(durationOption('--retention', 'how long after it has signed a key is published'))
    .addOption(durationOption('--rollback-window', 'how long after it has signed a key can be activated again'))
    .addOption(new Option('--standby <switch>', 'whether the next key is always published').choices(['on', 'off']))
    .addOption(yesOption(NEW_KIND_YES))
    .action(async (options: SetOptions, command: Command) => {
      if (options.kind !== undefined) assertOptionsOfKind(command, options.kind)
      else if (givenOptions(command).length > 0) {
        command.error('error: --bits, --hasher and --curve need --kind, whose options they are')
      }
      const { policy, paths } = changesOf(options)
      if (paths.length === 0) command.error('error: name what to change')
      const client = await connect(io, options, WebKeyService)
      const shown =
        options.kind === undefined
          ? []
          : await confirmNewKind(io, client, {
              ...options,
              algorithm: algorithmOfKind(options.kind, options),
              question: 'Change the policy?',
            })
      const response = await client
        .updateRotationPolicy({ policy, updateMask: { paths } })
        .catch(async (error: unknown) => Promise.reject(await inOptions(error)))
      printWarnings(
        io,
        response.warnings.filter((warning) => !shown.includes(warning)),
      )
      print(io, options, UpdateRotationPolicyResponseSchema, response, () => describe(response.policy))
    })
}

function changesOf(options: SetOptions): { policy: MessageInitShape<typeof RotationPolicySchema>; paths: string[] } {
  const { rotation, kind, interval, publishAhead, retention, rollbackWindow, standby } = options
  const policy: MessageInitShape<typeof RotationPolicySchema> = {}
  const paths: string[] = []
  const set = (path: string, change: MessageInitShape<typeof RotationPolicySchema>) => {
    Object.assign(policy, change)
    paths.push(path)
  }
  if (rotation !== undefined) set('enabled', { enabled: rotation === 'on' })
  if (kind !== undefined) set('config', { config: kindOf(kind, options) })
  if (interval !== undefined) set('rotation_interval', { rotationInterval: { seconds: interval } })
  if (publishAhead !== undefined) set('publish_ahead', { publishAhead: { seconds: publishAhead } })
  if (retention !== undefined) set('retention', { retention: { seconds: retention } })
  if (rollbackWindow !== undefined) set('rollback_window', { rollbackWindow: { seconds: rollbackWindow } })
  if (standby !== undefined) set('keep_standby', { keepStandby: standby === 'on' })
  return { policy, paths }
}

/** The options by the field of the API that each sets. */
const OPTIONS: Readonly<Record<string, string>> = {
  rotation_interval: '--interval',
  publish_ahead: '--publish-ahead',
  retention: '--retention',
  rollback_window: '--rollback-window',
}

/** A refusal of the policy in the words of the command: with its options, and times as they take them. */
async function inOptions(error: unknown): Promise<unknown> {
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
