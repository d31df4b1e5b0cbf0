/**
 * What the signed-in user can do with a key.
 */
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { may } from '../session/session.ts'
import type { KeyLife } from './key-life.ts'

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
