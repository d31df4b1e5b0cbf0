/**
 * Modal dialogs, most of which ask before a change is made: they say what it will do, make it, and say why if it is refused.
 *
 * The browser keeps the focus in a dialog and closes it with Escape; afterwards the focus is back where it was. What was typed into a form of it
 * is not lost by an Escape, a step back or a reload without a question.
 */
import type { ComponentChildren, ComponentProps } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { goTo, holdPlace, leaveFor } from '../navigation/route.ts'
import { submitting, useAction } from './action.ts'
import { Button } from './buttons.tsx'
import { CheckField } from './fields.tsx'
import { FailureNotice, Notice, usePage } from './page.tsx'
import { CopyButton } from './values.tsx'

interface DialogProps {
  readonly title: string
  /** Whether it cannot be closed by Escape, because something in it is shown only once. */
  readonly isHeld?: boolean
  readonly isWide?: boolean | undefined
  readonly children: ComponentChildren
}

/** What would lose what was typed: another place, or only the end of the dialog. */
interface Leaving {
  readonly to?: string
}

function Dialog({ title, isHeld = false, isWide = false, children }: DialogProps) {
  const { close } = usePage()
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // No state: a checkbox has its new value before its form has it, and would lose it if the dialog were drawn in between.
  const release = useRef<() => void>(undefined)
  const [leaving, setLeaving] = useState<Leaving>()
  useEffect(() => {
    const opener = document.activeElement
    element.current?.showModal()
    return () => giveFocusTo(opener)
  }, [])
  // With the dialog: what an effect leaves behind is cleared up a frame later, and until then the place could not be left.
  useLayoutEffect(() => () => release.current?.(), [])
  // A browser closes a dialog at the second Escape whatever the page says.
  const noteClosing = () => {
    if (isHeld) element.current?.showModal()
    else close()
  }
  const discard = () => {
    close()
    if (leaving?.to !== undefined) leaveFor(leaving.to)
  }
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog is-wide' : 'dialog'}
      aria-labelledby={titleId}
      onInput={({ target }) => {
        if (isInForm(target)) release.current ??= holdPlace((to) => setLeaving({ to }))
      }}
      onCancel={(event) => {
        event.preventDefault()
        if (release.current !== undefined) setLeaving({})
        else if (!isHeld) close()
      }}
      onClose={noteClosing}
    >
      <h2 id={titleId}>{title}</h2>
      {leaving !== undefined && <LeavingQuestion onKeep={() => setLeaving(undefined)} onDiscard={discard} />}
      {children}
    </dialog>
  )
}

function isInForm(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('form') !== null
}

/** It takes the focus, and gives it back if the dialog stays. */
function LeavingQuestion({ onKeep, onDiscard }: { readonly onKeep: () => void; readonly onDiscard: () => void }) {
  const keep = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const before = document.activeElement
    keep.current?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <div class="notice is-warning leaving" role="alert">
      <p>What you have entered is not saved.</p>
      <div class="page-actions">
        <button type="button" class="button" ref={keep} onClick={onKeep}>
          Go on with it
        </button>
        <Button text="Discard it" onClick={onDiscard} />
      </div>
    </div>
  )
}

/** The dialog is gone by now, so the browser does not give the focus back. What had it may be gone too, with what was deleted. */
function giveFocusTo(opener: Element | null): void {
  const target = opener?.isConnected === true ? opener : document.querySelector('#main h1')
  if (target instanceof HTMLElement) target.focus()
}

interface ConfirmDialogProps<Result> extends Omit<DialogProps, 'isHeld'> {
  /** What the button says, for example `Delete`. */
  readonly verb: string
  readonly isDangerous?: boolean
  /** Whether something is missing before the change can be made. */
  readonly isIncomplete?: boolean
  /** Makes the change. */
  readonly change: () => Promise<Result>
  /** What comes after the change. Default: the dialog closes. */
  readonly onDone?: (result: Result) => void
}

export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const { close } = usePage()
  const { title, verb, isDangerous, isIncomplete, isWide, change, onDone = close, children } = props
  const action = useAction(async () => onDone(await change()))
  return (
    <Dialog title={title} isWide={isWide}>
      <form onSubmit={submitting(action)}>
        <div class="dialog-body">{children}</div>
        <FailureNotice failure={action.failure} />
        <div class="dialog-buttons">
          <Button text="Cancel" onClick={close} />
          <Button
            text={action.isRunning ? 'Working…' : verb}
            kind={isDangerous ? 'danger' : 'primary'}
            disabled={isIncomplete || action.isRunning}
          />
        </div>
      </form>
    </Dialog>
  )
}

interface DialogButtonProps extends Omit<ComponentProps<typeof Button>, 'onClick'> {
  readonly dialog: ComponentChildren
}

/** A button that opens a dialog. */
export function DialogButton({ dialog, ...button }: DialogButtonProps) {
  const { open } = usePage()
  return <Button {...button} onClick={() => open(dialog)} />
}

interface ConfirmButtonProps extends ConfirmDialogProps<unknown> {
  /** What the button says that opens the dialog. Default: the verb. */
  readonly label?: string
}

/** A button that makes a change after a question. */
export function ConfirmButton({ label, ...dialog }: ConfirmButtonProps) {
  return <DialogButton text={label ?? dialog.verb} dialog={<ConfirmDialog {...dialog} />} />
}

interface DeleteButtonProps {
  /** The question. */
  readonly title: string
  /** Where all others are. */
  readonly place: string
  readonly remove: () => Promise<unknown>
  /** What it does, to be read before it is done. */
  readonly children: ComponentChildren
}

/** A button that deletes what the page is about, after a question, and leaves the page. */
export function DeleteButton({ title, place, remove, children }: DeleteButtonProps) {
  const change = async () => {
    await remove()
    goTo([place])
  }
  return (
    <ConfirmButton label="Delete" title={title} verb="Delete for good" isDangerous change={change}>
      <p>{children}</p>
    </ConfirmButton>
  )
}

interface InlineFormProps {
  readonly verb?: string
  readonly change: () => Promise<void>
  /** Its fields. */
  readonly children: ComponentChildren
}

/** A form of one line, which needs no question. */
export function InlineForm({ verb = 'Add', change, children }: InlineFormProps) {
  const action = useAction(change)
  return (
    <form onSubmit={submitting(action)}>
      <div class="inline-form">
        {children}
        <Button text={verb} disabled={action.isRunning} />
      </div>
      <FailureNotice failure={action.failure} />
    </form>
  )
}

interface ShownOnceProps {
  readonly title: string
  readonly secret: string
  /** What it is, for example `client secret`. */
  readonly what: string
  /** What comes when it is closed. */
  readonly onClose?: () => void
  readonly children?: ComponentChildren
}

/** A secret that is shown this once. The dialog closes when it was said that it is saved. */
export function ShownOnce({ title, secret, what, onClose, children }: ShownOnceProps) {
  const { close } = usePage()
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
        <CheckField value={isSaved} onChange={setIsSaved}>
          I have saved it where the service finds it
        </CheckField>
        <div class="dialog-buttons">
          <Button
            text="Close"
            kind="primary"
            disabled={!isSaved}
            onClick={() => {
              close()
              onClose?.()
            }}
          />
        </div>
      </div>
    </Dialog>
  )
}
