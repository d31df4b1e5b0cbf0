/**
 * A text that can be copied, such as an identifier.
 */
import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface CopyButtonProps {
  readonly text: string
  /** What it is, for a screen reader. */
  readonly what: string
  readonly onCopied?: () => void
}

export function CopyButton({ text, what, onCopied }: CopyButtonProps) {
  const [state, setState] = useState<'failed' | 'copied'>()
  const isCopied = state === 'copied'
  const copy = async () => {
    try {
      // Browsers offer it on https and on the own machine only, and may refuse it.
      await navigator.clipboard.writeText(text)
    } catch {
      setState('failed')
      return
    }
    setState('copied')
    onCopied?.()
  }
  return (
    <>
      <button
        type="button"
        class="icon-button"
        aria-label={isCopied ? `Copied ${what}` : `Copy ${what}`}
        title={isCopied ? 'Copied' : 'Copy'}
        onClick={() => void copy()}
        onBlur={() => setState(undefined)}
      >
        <Icon name={isCopied ? 'check' : 'copy'} />
      </button>
      {state === 'failed' && (
        <span role="alert" class="quiet">
          not copied: select it, and copy it by hand
        </span>
      )}
    </>
  )
}

/** An identifier with a button that copies it. */
export function Copyable({
  text,
  shown = text,
  what,
}: {
  readonly text: string
  readonly shown?: string
  readonly what: string
}) {
  return (
    <span class="copyable">
      <code title={text}>{shown}</code>
      <CopyButton text={text} what={what} />
    </span>
  )
}
