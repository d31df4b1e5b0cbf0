/**
 * Words in a row, such as roles, each of which can be removed, and a form that adds one.
 */
import { useId, useState } from 'preact/hooks'
import { useAction } from './action.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { Icon } from './icon.tsx'
import { FailureNotice } from './notice.tsx'

interface ChipsProps {
  /** What they are, for a screen reader. */
  readonly label: string
  /** What is said if there are none. */
  readonly empty: string
  readonly items: readonly string[]
  /** Whether they can be removed and added. */
  readonly mayChange: boolean
  readonly removing: Removing
  /** Undefined: not here, or not yet. */
  readonly adding?: Adding | undefined
}

/** How one is removed. */
interface Removing {
  /** What that does, to be read before it is done. */
  readonly consequence: string
  remove(item: string): Promise<unknown>
}

/** How one is added. */
export interface Adding {
  readonly label: string
  add(item: string): Promise<unknown>
  /** Undefined: any text. */
  readonly choices?: readonly { readonly value: string; readonly name: string }[]
}

export function Chips({ label, empty, items, mayChange, removing, adding }: ChipsProps) {
  const [removed, setRemoved] = useState<string>()
  return (
    <div>
      {items.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <ul class="chips" aria-label={label}>
          {items.map((item) => (
            <li key={item} class={!mayChange ? 'chip is-fixed' : 'chip'}>
              {item}
              {mayChange && (
                <button
                  type="button"
                  class="icon-button"
                  aria-label={`Remove ${item}`}
                  onClick={() => setRemoved(item)}
                >
                  <Icon name="close" />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayChange && adding !== undefined && <AddForm {...adding} />}
      {removed !== undefined && (
        <ConfirmDialog
          title={`Remove ${removed}?`}
          verb="Remove"
          isDangerous
          onClose={() => setRemoved(undefined)}
          change={() => removing.remove(removed)}
        >
          <p>{removing.consequence}</p>
        </ConfirmDialog>
      )}
    </div>
  )
}

function AddForm({ label, add, choices }: Adding) {
  const id = useId()
  const [item, setItem] = useState('')
  const action = useAction(async () => {
    await add(item)
    setItem('')
  })
  if (choices !== undefined && choices.length === 0) return null
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void action.run()
      }}
    >
      <div class="inline-form">
        <div class="field">
          <label for={id}>{label}</label>
          {choices === undefined ? (
            <input
              id={id}
              type="text"
              autocomplete="off"
              value={item}
              onInput={({ currentTarget }) => setItem(currentTarget.value)}
            />
          ) : (
            <select id={id} value={item} onChange={({ currentTarget }) => setItem(currentTarget.value)}>
              <option value="">Choose…</option>
              {choices.map(({ value, name }) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </div>
        <button type="submit" class="button" disabled={item === '' || action.isRunning}>
          Add
        </button>
      </div>
      <FailureNotice failure={action.failure} />
    </form>
  )
}
