/**
 * Asks before a change is made: says what it will do, makes it, and says why if it is refused. And what leads there.
 */
import type { ComponentChildren } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { submitting, useAction } from './action.ts'
import { Closing, Dialog } from './dialog.tsx'
import { FailureNotice } from './notice.tsx'

interface ConfirmDialogProps<Result> {
  readonly title: string
  /** What the button says, for example `Delete`. */
  readonly verb: string
  readonly isDangerous?: boolean
  /** Whether something is missing before the change can be made. */
  readonly isIncomplete?: boolean
  readonly isWide?: boolean
  /** Makes the change. */
  readonly change: () => Promise<Result>
  /** What comes after the change. Default: the dialog closes. */
  readonly onDone?: (result: Result) => void
  readonly children: ComponentChildren
}

export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const close = useContext(Closing)
  const { title, verb, isDangerous, isIncomplete, isWide, change, onDone = close, children } = props
  const action = useAction(async () => onDone(await change()))
  return (
    <Dialog title={title} isWide={isWide}>
      <form onSubmit={submitting(action)}>
        <div class="dialog-body">{children}</div>
        <FailureNotice failure={action.failure} />
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDangerous ? 'button is-danger' : 'button is-primary'}
            disabled={isIncomplete || action.isRunning}
          >
            {action.isRunning ? 'Working…' : verb}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface DialogButtonProps {
  readonly verb: string
  readonly isPrimary?: boolean
  readonly disabled?: boolean
  readonly dialog: ComponentChildren
}

/** A button that opens a dialog. */
export function DialogButton({ verb, isPrimary = false, disabled = false, dialog }: DialogButtonProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        class={isPrimary ? 'button is-primary' : 'button'}
        disabled={disabled}
        onClick={() => setIsOpen(true)}
      >
        {verb}
      </button>
      {isOpen && <Closing.Provider value={() => setIsOpen(false)}>{dialog}</Closing.Provider>}
    </>
  )
}

interface ConfirmButtonProps extends ConfirmDialogProps<unknown> {
  /** What the button says that opens the dialog. Default: the verb. */
  readonly label?: string
}

/** A button that makes a change after a question. */
export function ConfirmButton({ label, ...dialog }: ConfirmButtonProps) {
  return <DialogButton verb={label ?? dialog.verb} dialog={<ConfirmDialog {...dialog} />} />
}

interface InlineFormProps {
  readonly verb?: string
  readonly isIncomplete: boolean
  readonly change: () => Promise<void>
  /** Its fields. */
  readonly children: ComponentChildren
}

/** A form of one line, which needs no question. */
export function InlineForm({ verb = 'Add', isIncomplete, change, children }: InlineFormProps) {
  const action = useAction(change)
  return (
    <form onSubmit={submitting(action)}>
      <div class="inline-form">
        {children}
        <button type="submit" class="button" disabled={isIncomplete || action.isRunning}>
          {verb}
        </button>
      </div>
      <FailureNotice failure={action.failure} />
    </form>
  )
}
