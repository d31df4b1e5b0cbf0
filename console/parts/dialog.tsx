/**
 * A modal dialog. The browser keeps the focus in it and closes it with Escape; afterwards the focus is back where it was.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Whether it cannot be closed by Escape, because something in it is shown only once. */
  readonly isHeld?: boolean
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, isHeld = false, isWide = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const isOver = useRef(false)
  useEffect(() => {
    const opener = document.activeElement
    isOver.current = false
    element.current?.showModal()
    return () => {
      isOver.current = true
      giveFocusTo(opener)
    }
  }, [])
  // A browser closes a dialog at the second Escape whatever the page says.
  const noteClosing = () => {
    if (isOver.current) return
    if (isHeld) element.current?.showModal()
    else onClose()
  }
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog is-wide' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        if (!isHeld) onClose()
      }}
      onClose={noteClosing}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  )
}

/** The dialog is gone by now, so the browser does not give the focus back. What had it may be gone too, with what was deleted. */
function giveFocusTo(opener: Element | null): void {
  const target = opener?.isConnected === true ? opener : document.querySelector('#main h1')
  if (target instanceof HTMLElement) target.focus()
}
