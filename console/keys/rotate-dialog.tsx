/**
 * Rotates out of turn.
 */
import type { RotationPolicy } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { webKeys } from '../api/clients.ts'
import { formatLength, formatMoment, millisecondsOf } from '../format/moment.ts'
import { shortened } from '../format/shortened.ts'
import { now } from '../live/clock.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { kindIdOf } from './key-kind.ts'
import type { KeyLife, Lifetimes } from './key-life.ts'

interface RotateDialogProps {
  readonly lives: readonly KeyLife[]
  readonly policy: RotationPolicy | undefined
  readonly lifetimes: Lifetimes
  readonly onClose: () => void
  readonly onDone: (outcome: string) => void
}

export function RotateDialog({ lives, policy, lifetimes, onClose, onDone }: RotateDialogProps) {
  const at = now.value
  const signer = lives.find(({ key }) => key?.state === WebKeyState.ACTIVE)
  const kind = kindIdOf(policy?.config)
  const standby = lives.find(({ key }) => key?.state === WebKeyState.INITIAL && kindIdOf(key.config) === kind)
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
    <ConfirmDialog title="Rotate now?" verb="Rotate" onClose={onClose} change={change}>
      <p>{effectOf(standby, lifetimes, at)}</p>
      {signer !== undefined && (
        <p>
          {shortened(signer.id)} stays published for the tokens that it signed, and can be activated again to roll back.
          No verifier has to do anything.
        </p>
      )}
    </ConfirmDialog>
  )
}

function effectOf(standby: KeyLife | undefined, { keySetCache }: Lifetimes, at: number): string {
  if (standby === undefined) {
    return `No key stands by. A key is created now, and signs as soon as verifiers know it: after ${formatLength(keySetCache)} or a little more.`
  }
  const name = shortened(standby.id)
  if (at < standby.knownAt) {
    return `${name} stands by, but verifiers may not know it until ${formatMoment(standby.knownAt, at)}. It takes over by itself as soon as they do.`
  }
  return `${name} stands by and takes over as soon as it is certain that every verifier knows it, which is at once in most cases.`
}
