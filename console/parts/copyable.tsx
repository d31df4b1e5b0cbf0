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
  const [isCopied, setIsCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setIsCopied(true)
    onCopied?.()
  }
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={isCopied ? `Copied ${what}` : `Copy ${what}`}
      title={isCopied ? 'Copied' : 'Copy'}
      onClick={() => void copy()}
      onBlur={() => setIsCopied(false)}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
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
