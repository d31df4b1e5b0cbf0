/**
 * Creates a key, of the kind of the policy unless another one is chosen.
 */
import { useState } from 'preact/hooks'
import type { WebKey, WebKeyConfig } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { algorithmWarnings } from '../../src/domain/keys/algorithm-warnings.ts'
import { parseKeyAlgorithm } from '../../src/domain/keys/key-algorithm.ts'
import { webKeys } from '../api/clients.ts'
import { formatLength, shortened } from '../format/text.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { sentence } from '../parts/notice.tsx'
import { KEY_KINDS, KindChoice, kindOf } from './key-kind.tsx'
import type { Lifetimes } from './key-life.ts'

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
