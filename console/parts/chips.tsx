/**
 * Words in a row, such as roles, each of which can be removed, and a form that adds one.
 */
import { useId, useState } from 'preact/hooks'
import { useAction } from './action.ts'
import { Icon } from './icon.tsx'
import { FailureNotice } from './notice.tsx'

interface ChipsProps {
  /** What they are, for a screen reader. */
  readonly label: string
  /** What is said if there are none. */
  readonly empty: string
  readonly items: readonly string[]
  /** Undefined: it may not be done. */
  readonly onRemove?: ((item: string) => Promise<unknown>) | undefined
  readonly adding?: Adding | undefined
}

/** How one is added. */
export interface Adding {
  readonly label: string
  add(item: string): Promise<unknown>
  /** Undefined: any text. */
  readonly choices?: readonly { readonly value: string; readonly name: string }[]
}

export function Chips({ label, empty, items, onRemove, adding }: ChipsProps) {
  const removal = useAction(async (item: string) => {
    await onRemove?.(item)
  })
  return (
    <div>
      {items.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <ul class="chips" aria-label={label}>
          {items.map((item) => (
            <li key={item} class={onRemove === undefined ? 'chip is-fixed' : 'chip'}>
              {item}
              {onRemove !== undefined && (
                <button
                  type="button"
                  class="icon-button"
                  aria-label={`Remove ${item}`}
                  onClick={() => void removal.run(item)}
                >
                  <Icon name="close" />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <FailureNotice failure={removal.failure} />
      {adding !== undefined && <AddForm {...adding} />}
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
