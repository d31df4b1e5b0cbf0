/**
 * Asks before a change is made: says what it will do, makes it, and says why if it is refused.
 */
import type { ComponentChildren } from 'preact'
import { type Action, useAction } from './action.ts'
import { Dialog } from './dialog.tsx'
import { FailureNotice } from './notice.tsx'

interface ConfirmDialogProps<Result> {
  readonly title: string
  /** What the button says, for example `Delete`. */
  readonly verb: string
  readonly isDangerous?: boolean
  /** Whether something is missing before the change can be made. */
  readonly isIncomplete?: boolean
  readonly onClose: () => void
  /** Makes the change. */
  readonly change: () => Promise<Result>
  /** What comes after the change. Default: the dialog closes. */
  readonly onDone?: (result: Result) => void
  readonly children: ComponentChildren
}

export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const { title, verb, isDangerous = false, isIncomplete = false, onClose, change, onDone = onClose, children } = props
  const action = useAction(async () => onDone(await change()))
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void action.run()
        }}
      >
        <div class="dialog-body">{children}</div>
        <FailureNotice failure={action.failure} />
        <DialogButtons {...{ verb, isDangerous, isIncomplete, onClose, action }} />
      </form>
    </Dialog>
  )
}

interface DialogButtonsProps {
  readonly verb: string
  readonly isDangerous?: boolean
  readonly isIncomplete?: boolean
  readonly onClose: () => void
  readonly action: Pick<Action<[]>, 'isRunning'>
}

/** The buttons at the end of a form in a dialog. */
export function DialogButtons({
  verb,
  isDangerous = false,
  isIncomplete = false,
  onClose,
  action,
}: DialogButtonsProps) {
  return (
    <div class="dialog-buttons">
      <button type="button" class="button" onClick={onClose}>
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
  )
}
