/**
 * Something that should be noticed.
 */
import type { ComponentChildren } from 'preact'
import type { Failure } from '../api/failure.ts'
import { Icon } from './icon.tsx'

interface NoticeProps {
  readonly kind: 'warning' | 'danger'
  readonly children: ComponentChildren
}

/** A paragraph. */
export function Notice({ kind, children }: NoticeProps) {
  return (
    <div class={`notice is-${kind}`}>
      <p>{children}</p>
    </div>
  )
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

/** What a change has done. Read out when it appears. */
export function Outcome({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return (
    <div class="outcome" role="status">
      {text !== '' && (
        <div class="notice is-success">
          <p>{text}</p>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  )
}

/** Texts of the API begin with a small letter and have no full stop, because they stand in logs and on the command line too. */
export function sentence(text: string): string {
  const ends = /[.!?…]$/.test(text)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${ends ? '' : '.'}`
}

/** A state in a word or two. */
export interface State {
  readonly text: string
  readonly tone: 'success' | 'warning' | 'danger' | ''
}

export function Badge({ text, tone }: State) {
  return <span class={tone === '' ? 'badge' : `badge is-${tone}`}>{text}</span>
}
