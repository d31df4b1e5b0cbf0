/**
 * A secret that is shown this once. The dialog closes when it was said that it is saved.
 */

import type { ComponentChildren } from 'preact'
import { useContext, useLayoutEffect, useState } from 'preact/hooks'
import { holdPlace } from '../navigation/route.ts'
import { Button } from './buttons.tsx'
import { Closing, Dialog } from './dialogs.tsx'
import { Notice } from './page.tsx'
import { CopyButton } from './values.tsx'

interface ShownOnceProps {
  readonly title: string
  readonly secret: string
  /** What it is, for example `client secret`. */
  readonly what: string
  readonly children?: ComponentChildren
}

export function ShownOnce({ title, secret, what, children }: ShownOnceProps) {
  const close = useContext(Closing)
  const [isSaved, setIsSaved] = useState(false)
  // It cannot be shown again: there is no question to answer.
  useLayoutEffect(() => (isSaved ? undefined : holdPlace()), [isSaved])
  return (
    <Dialog title={title} isHeld={!isSaved}>
      <div class="dialog-body">
        <Notice kind="warning">
          <strong>This is the only time that the {what} is shown.</strong> Keyturn does not keep it.
        </Notice>
        {children}
        <div class="field">
          <span class="label">The {what}</span>
          <span class="secret">
            <code data-secret>{secret}</code>
            <CopyButton text={secret} what={`the ${what}`} />
          </span>
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={isSaved}
            onChange={({ currentTarget }) => setIsSaved(currentTarget.checked)}
          />
          I have saved it where the service finds it
        </label>
        <div class="dialog-buttons">
          <Button text="Close" kind="primary" disabled={!isSaved} onClick={close} />
        </div>
      </div>
    </Dialog>
  )
}
