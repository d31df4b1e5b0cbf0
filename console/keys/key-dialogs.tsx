/**
 * What can be done with keys, and the dialogs before it is done: each says what that does to verifiers.
 */
import type { ReadonlySignal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { RotationPolicy } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { algorithmWarnings } from '../../src/domain/keys/algorithm-warnings.ts'
import { parseKeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import { knownAfterSeconds } from '../../src/domain/keys/rotation-policy.ts'
import { webKeys } from '../api/clients.ts'
import { formatLength, formatMoment, lengthOf, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/instance.ts'
import type { RowAction } from '../parts/data-table.tsx'
import { ConfirmDialog } from '../parts/dialogs.tsx'
import { CheckField } from '../parts/fields.tsx'
import { Notice, sentence, usePage } from '../parts/page.tsx'
import { may } from '../session/session.ts'
import { KEY_KINDS, KindChoice, kindOf } from './key-kind.tsx'
import { isUnconfirmed, type KeyLife, type KeyView, type Lifetimes, neededUntil } from './key-life.ts'
import { isNeeded } from './key-sentences.ts'

/** What can be done with a key in its state. */
export function keyActionsOf(life: KeyLife, view: ReadonlySignal<KeyView>): RowAction[] {
  const { key } = life
  if (key === undefined) return []
  const { state } = key
  const about = { opened: life, view }
  const [mayWrite, mayDelete] = [may('iam.web_key.write'), may('iam.web_key.delete')]
  const isRollback = state === WebKeyState.INACTIVE && key.hasPrivateKey
  const actions = [
    { verb: 'Activate', dialog: <ActivateDialog {...about} />, offered: mayWrite && state === WebKeyState.INITIAL },
    { verb: 'Roll back', dialog: <ActivateDialog {...about} />, offered: mayWrite && isRollback },
    { verb: 'Delete', dialog: <DeleteDialog {...about} />, offered: mayDelete && state === WebKeyState.INACTIVE },
    { verb: 'Revoke', dialog: <RevokeDialog {...about} />, offered: mayDelete && state !== WebKeyState.REVOKED },
  ]
  return actions
    .filter(({ offered }) => offered)
    .map(({ verb, dialog }) => ({ verb, label: `${verb} key ${shortened(life.id)}`, dialog }))
}

interface KeyDialogProps {
  /** As it was when the dialog was opened. */
  readonly opened: KeyLife
  readonly view: ReadonlySignal<KeyView>
}

/** What a dialog is about as it is now: a key may be changed elsewhere while it is open. */
function latestOf({ opened, view }: KeyDialogProps) {
  const { lives, signer, lifetimes } = view.value
  return { life: lives.find(({ id }) => id === opened.id) ?? opened, signer, lifetimes }
}

function ActivateDialog(props: KeyDialogProps) {
  const { life, signer, lifetimes } = latestOf(props)
  const { say } = usePage()
  const name = shortened(life.id)
  const isRollback = life.key?.state === WebKeyState.INACTIVE
  const at = now.value
  const change = async () => {
    const { knownFrom } = await webKeys.activateWebKey({ keyId: life.id })
    const early = millisecondsOf(knownFrom)
    say(
      early === undefined
        ? `${name} signs all new tokens.`
        : `${name} signs all new tokens. Verifiers may not know it before ${formatMoment(early, now.value)}.`,
    )
  }
  return (
    <ConfirmDialog
      title={isRollback ? `Roll back to key ${name}?` : `Activate key ${name}?`}
      verb={isRollback ? 'Roll back' : 'Activate'}
      change={change}
    >
      <p>{name} signs all new tokens from now on.</p>
      {signer !== undefined && (
        <p>
          {shortened(signer.id)} stops signing and stays published. Tokens that it signed need it until{' '}
          {formatMoment(neededUntil(at, lifetimes), at)}; it can be activated again to roll back.
        </p>
      )}
      {!isRollback && at < life.knownAt && (
        <Notice kind="warning">
          {isUnconfirmed(life) && 'Its publication is not confirmed yet. '}
          Verifiers may not know this key before {formatMoment(life.knownAt, at)}, when their copies of the key set have
          expired. Until then some of them may refuse its tokens.
        </Notice>
      )}
    </ConfirmDialog>
  )
}

function RevokeDialog(props: KeyDialogProps) {
  const { life, signer, lifetimes } = latestOf(props)
  const { say } = usePage()
  const [isSure, setIsSure] = useState(false)
  const name = shortened(life.id)
  const isSigner = signer?.id === life.id
  const at = now.value
  const change = async () => {
    const { activeWebKey, trustedUntil } = await webKeys.revokeWebKey({ keyId: life.id })
    const until = millisecondsOf(trustedUntil)
    const copies =
      until === undefined ? '' : ` Verifiers with a copy may trust it until ${formatMoment(until, now.value)}.`
    const signs = activeWebKey === undefined ? '' : ` ${shortened(activeWebKey.keyId)} signs all new tokens.`
    say(`${name} is revoked.${signs}${copies}`)
  }
  return (
    <ConfirmDialog
      title={`Revoke key ${name}?`}
      verb="Revoke for good"
      isDangerous
      isIncomplete={!isSure}
      change={change}
    >
      <p>
        For a key that has leaked. Keyturn refuses all tokens that it signed, at once and for good, and its private key
        is destroyed.
      </p>
      <p>
        Verifiers with a copy of the key set may trust it for another {formatLength(lifetimes.keySetCache)}, until{' '}
        {formatMoment(at + lifetimes.keySetCache, at)}.
      </p>
      {isSigner && (
        <Notice kind="danger">
          This key signs now. Another key takes over in the same step, and{' '}
          <strong>every client needs a new token</strong>. If no initial key is known to verifiers, they may refuse the
          new tokens until their copies have expired.
        </Notice>
      )}
      {!isSigner && isNeeded(life, at) && (
        <Notice kind="warning">
          Tokens until {formatMoment(life.neededUntil ?? at, at)} still need this key: they are refused from then on.
        </Notice>
      )}
      <CheckField value={isSure} onChange={setIsSure}>
        This cannot be undone. Revoke the key.
      </CheckField>
    </ConfirmDialog>
  )
}

function DeleteDialog(props: KeyDialogProps) {
  const { life } = latestOf(props)
  const { say } = usePage()
  const name = shortened(life.id)
  const at = now.value
  const change = async () => {
    await webKeys.deleteWebKey({ keyId: life.id })
    say(`${name} is deleted.`)
  }
  return (
    <ConfirmDialog title={`Delete key ${name}?`} verb="Delete" isDangerous change={change}>
      <p>The key leaves the key set. Verifiers refuse tokens that it signed as soon as they fetch the key set again.</p>
      {isNeeded(life, at) ? (
        <Notice kind="warning">
          <strong>Tokens until {formatMoment(life.neededUntil ?? at, at)} still need this key.</strong> Without it
          verifiers refuse them.
        </Notice>
      ) : (
        <p>No token needs it any more: the last one that it signed has expired.</p>
      )}
    </ConfirmDialog>
  )
}

interface AllKeysProps {
  readonly view: ReadonlySignal<KeyView>
}

/** Creates a key, of the kind of the policy unless another one is chosen. */
export function CreateKeyDialog({ view }: AllKeysProps) {
  const { published, policy, lifetimes } = view.value
  const { say } = usePage()
  const [kindName, setKindName] = useState(() => kindOf(policy?.config)?.name ?? '')
  const kind = KEY_KINDS.find(({ name }) => name === kindName)
  // The same that the API says afterwards.
  const warnings = kind === undefined ? [] : algorithmWarnings(parseKeyAlgorithm(kind.algorithm), published)
  const change = async () => {
    const { webKey, warnings: said } = await webKeys.createWebKey(kind === undefined ? {} : { config: kind.config })
    say([`${shortened(webKey?.keyId ?? '')} is created and published.`, ...said.map(sentence)].join(' '))
  }
  return (
    <ConfirmDialog title="Create a key" verb="Create key" change={change}>
      <p>
        Its public key is published at once. Verifiers know it when their copies of the key set have expired, after{' '}
        {formatLength(lifetimes.keySetCache)}. It does not sign before it is activated, by hand or by the rotation.
      </p>
      <KindChoice value={kindName} onChange={setKindName} warnings={warnings} />
    </ConfirmDialog>
  )
}

/** Rotates out of turn. */
export function RotateDialog({ view }: AllKeysProps) {
  const { lives, signer, policy, lifetimes } = view.value
  const { say } = usePage()
  const at = now.value
  const kind = kindOf(policy?.config)
  const initial = lives.filter(({ key }) => key?.state === WebKeyState.INITIAL)
  const standby = initial.find(({ key }) => kindOf(key?.config) === kind)
  const change = async () => {
    const { done, rotationDate, webKey } = await webKeys.rotateWebKey({})
    const name = webKey === undefined ? 'A key that is being created' : shortened(webKey.keyId)
    const date = millisecondsOf(rotationDate)
    say(
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
