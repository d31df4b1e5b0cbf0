/**
 * `keyturn keys`: the keys that sign tokens, and the policy of their automatic rotation.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  EcdsaCurve,
  RsaBits,
  RsaHasher,
  type WebKey,
  type WebKeyConfigSchema,
  WebKeyState,
} from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { type RotateWebKeyResponse, WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import type { KeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import { earlyActivationWarning } from '../../domain/keys/publication.ts'
import type { Api } from '../api.ts'
import { call, type Declaration, group, list, namedFields } from '../commands.ts'
import { ConnectionError, connectionCode } from '../connection/connection-failure.ts'
import { type Chosen, choice, durationOption, flag, option, UsageError, wholeNumber } from '../options.ts'
import { printWarnings } from '../output.ts'
import { formatMoment } from '../times.ts'

const STATES_WITH_REVOKED = [WebKeyState.INITIAL, WebKeyState.ACTIVE, WebKeyState.INACTIVE, WebKeyState.REVOKED]

const { method: Methods } = WebKeyService

const KINDS = ['rsa', 'ecdsa', 'ed25519'] as const

type Kind = (typeof KINDS)[number]

const BITS = ['2048', '3072', '4096'] as const
const HASHERS = ['SHA256', 'SHA384', 'SHA512'] as const
const CURVES = ['P256', 'P384', 'P521'] as const

const KIND_OPTIONS = {
  bits: choice('--bits <bits>', 'length of an RSA key (default: 2048)', BITS),
  hasher: choice('--hasher <hash>', 'hash of an RSA key (default: SHA256)', HASHERS),
  curve: choice('--curve <curve>', 'curve of an ECDSA key (default: P256)', CURVES),
}

type KindOptions = Chosen<typeof KIND_OPTIONS>

/** @throws {UsageError} if an option of another kind is given: it would be ignored. */
function assertOptionsOfKind(kind: string | undefined, { bits, hasher, curve }: KindOptions): void {
  if (kind !== 'rsa' && (bits ?? hasher) !== undefined)
    throw new UsageError('--bits and --hasher are options of rsa keys')
  if (kind !== 'ecdsa' && curve !== undefined) throw new UsageError('--curve is an option of ecdsa keys')
}

/** A kind with its options, as the API takes it. */
function configOf(
  kind: string,
  { bits = '2048', hasher = 'SHA256', curve = 'P256' }: KindOptions,
): MessageInitShape<typeof WebKeyConfigSchema> {
  if (kind === 'ecdsa') return { config: { case: 'ecdsa', value: { curve: EcdsaCurve[curve] } } }
  if (kind === 'ed25519') return { config: { case: 'ed25519', value: {} } }
  return { config: { case: 'rsa', value: { bits: RsaBits[`RSA_BITS_${bits}`], hasher: RsaHasher[hasher] } } }
}

/** What to ask before the first key of an algorithm, which verifiers may not support. Undefined: there is one already. */
async function algorithmQuestion(
  api: Api,
  kind: string,
  { hasher = 'SHA256', curve = 'P256' }: KindOptions,
): Promise<string | undefined> {
  const algorithms = {
    rsa: `RS${hasher.slice(3)}`,
    ecdsa: curve === 'P521' ? 'ES512' : `ES${curve.slice(1)}`,
    ed25519: 'EdDSA',
  }
  const { webKeys } = await api.call(WebKeyService.method.listWebKeys, {})
  const warnings = algorithmWarnings(algorithms[kind as Kind] as KeyAlgorithm, webKeys)
  return warnings.length === 0 ? undefined : `${warnings.join('\n')}\nGo on?`
}

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

const POLL = 1_000

/** How long after its date a rotation may happen, in milliseconds. */
const GRACE = 300_000

const ROTATE = call('rotate', Methods.rotateWebKey, {
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
  ROTATE,
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
