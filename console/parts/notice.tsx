/**
 * Something that should be noticed.
 */
import type { ComponentChildren } from 'preact'
import type { Failure } from '../api/failure.ts'

interface NoticeProps {
  readonly kind: 'info' | 'warning' | 'danger' | 'success'
  readonly children: ComponentChildren
}

export function Notice({ kind, children }: NoticeProps) {
  return <div class={`notice is-${kind}`}>{children}</div>
}

/** Why something failed, in the words of the API. Read out at once. */
export function FailureNotice({ failure }: { readonly failure: Failure | undefined }) {
  if (failure === undefined) return null
  return (
    <div class="notice is-danger" role="alert">
      <p>{sentence(failure.message)}</p>
      {failure.reason !== '' && <p class="reason">{failure.reason}</p>}
    </div>
  )
}

/** Texts of the API begin with a small letter and have no full stop, because they stand in logs and on the command line too. */
export function sentence(text: string): string {
  const ends = /[.!?…]$/.test(text)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${ends ? '' : '.'}`
}
