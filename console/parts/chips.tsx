/**
 * Words in a row, such as roles, each of which can be removed, and a form that adds one.
 */
import { useState } from 'preact/hooks'
import { IconButton } from './buttons.tsx'
import { Closing, ConfirmDialog, InlineForm } from './dialogs.tsx'
import { type Choice, SelectField, TextField } from './fields.tsx'

interface ChipsProps {
  /** What they are, for a screen reader. */
  readonly label: string
  /** What is said if there are none. */
  readonly empty?: string
  readonly items: readonly string[]
  /** Whether they can be removed and added. */
  readonly mayChange: boolean
  /** What removing one does, to be read before it is done. */
  readonly consequence: string
  remove(item: string): Promise<unknown>
  /** Undefined: not here, or not yet. */
  readonly adding?: Adding | undefined
}

/** How one is added. */
export interface Adding {
  readonly label: string
  add(item: string): Promise<unknown>
  /** Undefined: any text. */
  readonly choices?: readonly Choice<string>[]
}

export function Chips({ label, empty = 'None.', items, mayChange, consequence, remove, adding }: ChipsProps) {
  const [removed, setRemoved] = useState<string>()
  return (
    <div>
      {items.length === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <ul class="chips" aria-label={label}>
          {items.map((item) => (
            <li key={item} class={mayChange ? 'chip' : 'chip is-fixed'}>
              {item}
              {mayChange && <IconButton name="close" label={`Remove ${item}`} onClick={() => setRemoved(item)} />}
            </li>
          ))}
        </ul>
      )}
      {mayChange && adding !== undefined && <AddForm {...adding} />}
      {removed !== undefined && (
        <Closing.Provider value={() => setRemoved(undefined)}>
          <ConfirmDialog title={`Remove ${removed}?`} verb="Remove" isDangerous change={() => remove(removed)}>
            <p>{consequence}</p>
          </ConfirmDialog>
        </Closing.Provider>
      )}
    </div>
  )
}

function AddForm({ label, add, choices }: Adding) {
  const [item, setItem] = useState('')
  if (choices?.length === 0) return null
  const field = { label, value: item, onChange: setItem }
  return (
    <InlineForm
      isIncomplete={item === ''}
      change={async () => {
        await add(item)
        setItem('')
      }}
    >
      {choices === undefined ? (
        <TextField {...field} />
      ) : (
        <SelectField {...field} choices={[['', 'Choose…'], ...choices]} />
      )}
    </InlineForm>
  )
}
