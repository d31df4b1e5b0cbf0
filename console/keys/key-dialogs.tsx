/**
 * What the signed-in user can do with a key, and the dialogs before it is activated, revoked or deleted: each says what that does to
 * verifiers.
 */
import type { ComponentType } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { webKeys } from '../api/clients.ts'
import { formatLength, formatMoment, millisecondsOf, shortened } from '../format/text.ts'
import { now } from '../live/instance.ts'
import { Closing, ConfirmDialog } from '../parts/dialogs.tsx'
import { CheckField } from '../parts/fields.tsx'
import { Notice } from '../parts/page.tsx'
import { may } from '../session/session.ts'
import { isUnconfirmed, type KeyLife, type Lifetimes, neededUntil } from './key-life.ts'
import { isNeeded } from './key-sentences.ts'

/** Something that can be done with a key. */
export type KeyAction = 'activate' | 'revoke' | 'delete'

/** What can be done with a key in its state. */
export function actionsOf({ key }: KeyLife): { action: KeyAction; label: string }[] {
  const activate = may('iam.web_key.write')
  const remove = may('iam.web_key.delete')
  const actions: { action: KeyAction; label: string; offered: boolean }[] = [
    { action: 'activate', label: 'Activate', offered: activate && key?.state === WebKeyState.INITIAL },
    {
      action: 'activate',
      label: 'Roll back',
      offered: activate && key?.state === WebKeyState.INACTIVE && key.hasPrivateKey,
    },
    { action: 'delete', label: 'Delete', offered: remove && key?.state === WebKeyState.INACTIVE },
    { action: 'revoke', label: 'Revoke', offered: remove && key !== undefined && key.state !== WebKeyState.REVOKED },
  ]
  return actions.filter(({ offered }) => offered)
}

interface KeyDialogProps {
  readonly kind: KeyAction
  readonly keyId: string
  readonly lives: readonly KeyLife[]
  /** The life of the key that signs now. */
  readonly signer: KeyLife | undefined
  readonly lifetimes: Lifetimes
  /** Is given what to say afterwards. */
  readonly onDone: (outcome: string) => void
}

/** Asks before something is done with a key. It closes when that cannot be done any more: the key is gone, or was changed elsewhere. */
export function KeyDialog({ kind, keyId, lives, ...shared }: KeyDialogProps) {
  const close = useContext(Closing)
  const life = lives.find(({ id }) => id === keyId)
  const isPossible = life !== undefined && actionsOf(life).some(({ action }) => action === kind)
  useEffect(() => {
    if (!isPossible) close()
  }, [isPossible])
  if (!isPossible) return null
  const ActionDialog = DIALOGS[kind]
  return <ActionDialog life={life} {...shared} />
}

interface ActionDialogProps extends Pick<KeyDialogProps, 'signer' | 'lifetimes' | 'onDone'> {
  readonly life: KeyLife
}
function ActivateDialog({ life, signer, lifetimes, onDone }: ActionDialogProps) {
  const name = shortened(life.id)
  const isRollback = life.key?.state === WebKeyState.INACTIVE
  const at = now.value
  const change = async () => {
    const { knownFrom } = await webKeys.activateWebKey({ keyId: life.id })
    const early = millisecondsOf(knownFrom)
    onDone(
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

function RevokeDialog({ life, signer, lifetimes, onDone }: ActionDialogProps) {
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
    onDone(`${name} is revoked.${signs}${copies}`)
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

function DeleteDialog({ life, onDone }: ActionDialogProps) {
  const name = shortened(life.id)
  const at = now.value
  const change = async () => {
    await webKeys.deleteWebKey({ keyId: life.id })
    onDone(`${name} is deleted.`)
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

const DIALOGS: Readonly<Record<KeyAction, ComponentType<ActionDialogProps>>> = {
  activate: ActivateDialog,
  revoke: RevokeDialog,
  delete: DeleteDialog,
}
