/**
 * Creates a key, of the kind of the policy unless another one is chosen; and rotates out of turn.
 */
import { useState } from 'preact/hooks'
import type { RotationPolicy } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, type WebKeyConfig, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { algorithmWarnings } from '../../src/domain/keys/algorithm-warnings.ts'
import { parseKeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import { knownAfterSeconds } from '../../src/domain/keys/rotation-policy.ts'
import { webKeys } from '../api/clients.ts'
import { formatLength, formatMoment, lengthOf, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { ConfirmDialog } from '../parts/dialogs.tsx'
import { sentence } from '../parts/page.tsx'
import { KEY_KINDS, KindChoice, kindOf } from './key-kind.tsx'
import { isUnconfirmed, type KeyLife, type Lifetimes } from './key-life.ts'

interface CreateKeyDialogProps {
  readonly keys: readonly WebKey[]
  /** That of the policy. */
  readonly usual: WebKeyConfig | undefined
  readonly lifetimes: Lifetimes
  readonly onDone: (outcome: string) => void
}

export function CreateKeyDialog({ keys, usual, lifetimes, onDone }: CreateKeyDialogProps) {
  const [kindId, setKindId] = useState(() => kindOf(usual)?.id ?? '')
  const kind = KEY_KINDS.find(({ id }) => id === kindId)
  // The same that the API says afterwards.
  const warnings = kind === undefined ? [] : algorithmWarnings(parseKeyAlgorithm(kind.algorithm), keys)
  const change = async () => {
    const { webKey, warnings: said } = await webKeys.createWebKey(kind === undefined ? {} : { config: kind.config })
    onDone([`${shortened(webKey?.keyId ?? '')} is created and published.`, ...said.map(sentence)].join(' '))
  }
  return (
    <ConfirmDialog title="Create a key" verb="Create key" change={change}>
      <p>
        Its public key is published at once. Verifiers know it when their copies of the key set have expired, after{' '}
        {formatLength(lifetimes.keySetCache)}. It does not sign before it is activated, by hand or by the rotation.
      </p>
      <KindChoice value={kindId} onChange={setKindId} warnings={warnings} />
    </ConfirmDialog>
  )
}

interface RotateDialogProps {
  readonly lives: readonly KeyLife[]
  readonly policy: RotationPolicy | undefined
  readonly lifetimes: Lifetimes
  readonly onDone: (outcome: string) => void
}

export function RotateDialog({ lives, policy, lifetimes, onDone }: RotateDialogProps) {
  const at = now.value
  const signer = lives.find(({ key }) => key?.state === WebKeyState.ACTIVE)
  const kind = kindOf(policy?.config)
  const initial = lives.filter(({ key }) => key?.state === WebKeyState.INITIAL)
  const standby = initial.find(({ key }) => kindOf(key?.config) === kind)
  const change = async () => {
    const { done, rotationDate, webKey } = await webKeys.rotateWebKey({})
    const name = webKey === undefined ? 'A key that is being created' : shortened(webKey.keyId)
    const date = millisecondsOf(rotationDate)
    onDone(
      done || date === undefined
        ? `${name} signs all new tokens.`
        : `${name} signs all new tokens from ${formatMoment(date, now.value)} on, when verifiers know it.`,
    )
  }
  return (
    <ConfirmDialog title="Rotate now?" verb="Rotate" change={change}>
      <p>
        {standby === undefined
          ? `No key of the kind that the policy names (${kind?.name}) stands by: one is created now, and signs ` +
            `${formatLength(knownAfter(policy, lifetimes))} after its publication, when every verifier knows it.`
          : effectOf(standby, knownAfter(policy, lifetimes), at)}
      </p>
      {standby === undefined &&
        initial.map(({ id, key }) => (
          <p key={id}>
            {shortened(id)} is of another kind ({kindOf(key?.config)?.name}): it signs when it is activated by hand.
          </p>
        ))}
      {signer !== undefined && (
        <p>
          {shortened(signer.id)} stays published for the tokens that it signed, and can be activated again to roll back.
          No verifier has to do anything.
        </p>
      )}
    </ConfirmDialog>
  )
}

function effectOf(standby: KeyLife, known: number, at: number): string {
  const name = shortened(standby.id)
  const signsAt = (isUnconfirmed(standby) ? at : standby.publishedAt) + known
  return at < signsAt
    ? `${name} stands by. It takes over by itself, not before ${formatMoment(signsAt, at)}, when every verifier knows it.`
    : `${name} stands by, and every verifier knows it: it takes over at once.`
}

/** How long after its publication a key may sign, in milliseconds. */
function knownAfter(policy: RotationPolicy | undefined, { keySetCache, staleness }: Lifetimes): number {
  const limits = { jwksMaxAgeSeconds: keySetCache / 1000, maxStalenessSeconds: staleness / 1000 }
  return knownAfterSeconds({ publishAheadSeconds: lengthOf(policy?.publishAhead) / 1000 }, limits) * 1000
}
